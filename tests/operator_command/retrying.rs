//! `postrider retry`.

use http::Method;
use postrider_testkit::receiver::Answer;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use super::terminal::Terminal;
use super::{dead_delivery, impatient};
use crate::command::{PATIENCE, Serve};
use crate::inbound_command::{OPEN, Stage};

#[tokio::test]
async fn a_dry_run_counts_and_shows_some_and_changes_nothing() {
    let stage = Stage::new().await;
    let webhook = impatient(&stage).await;
    let id = dead_delivery(&stage, &webhook).await;
    let line = ["retry", "--dead", "--webhook", &webhook, "--since", "1h"];
    let counted = stage
        .run(&[&line[..], &["--dry-run"]].concat())
        .await
        .well();
    assert!(
        counted.out.starts_with("1 delivery would be requeued.") && counted.out.contains(&id),
        "{}",
        counted.out
    );
    let refused = stage.run(&line).await;
    assert_eq!(refused.code, 2, "there is no terminal to confirm on");
    assert!(refused.err.contains("--yes"), "{}", refused.err);
    let row = stage.get(&format!("/v1/deliveries/{id}")).await;
    assert_eq!(
        (row["status"].as_str(), stage.receiver.requests().len()),
        (Some("dead"), 1)
    );
}

#[tokio::test]
async fn wait_shows_the_result_of_every_requeued_delivery() {
    let stage = Stage::new().await;
    let webhook = impatient(&stage).await;
    for _ in 0..3 {
        dead_delivery(&stage, &webhook).await;
    }
    let line = ["retry", "--dead", "--webhook", &webhook, "--yes", "--wait"];
    let again = stage.run(&line).await;
    assert_eq!(again.code, 1, "{}{}", again.out, again.err);
    assert!(
        again
            .out
            .contains("3 of 3 deliveries requeued; 0 delivered, 3 dead again, 0 still open"),
        "{}",
        again.out
    );
    stage.receiver.answer(Answer::status(200));
    let retried = stage
        .run(&[&line[..], &["--json"]].concat())
        .await
        .well()
        .json();
    assert_eq!(
        (
            &retried["delivered"],
            &retried["dead"],
            &retried["retry"]["done"]
        ),
        (&3.into(), &0.into(), &3.into())
    );
}

#[tokio::test]
async fn one_delivery_is_followed_to_its_end() {
    let stage = Stage::new().await;
    let webhook = impatient(&stage).await;
    let id = dead_delivery(&stage, &webhook).await;
    assert_eq!(stage.run(&["retry", &id, "--wait"]).await.code, 1);
    stage.receiver.answer(Answer::status(200));
    let retried = stage.run(&["retry", &id, "--wait", "--json"]).await.well();
    assert_eq!(retried.json()["status"], "delivered");
}

#[tokio::test]
async fn ctrl_c_stops_watching_but_not_the_job() {
    // More than one slice, and only the first one is processed soon.
    let mut stage = Stage::new().await;
    let slow = ("POSTRIDER_POLL_INTERVAL_MS", "60000");
    stage.gateway = Serve::start(&[OPEN, slow]).await;
    let webhook = impatient(&stage).await;
    // A permanent failure: the receiver is not down, and the webhook is not rate limited.
    stage.receiver.answer(Answer::status(404));
    let event = json!({"type": "a.b", "webhook_id": webhook, "payload": {}});
    for _ in 0..3 {
        let events = json!({"events": vec![&event; 100]});
        let call = stage.gateway.call(Method::POST, "/v1/events", Some(events));
        call.await;
    }
    let count = ["retry", "--dead", "--dry-run", "--json"];
    let all_dead = async { while stage.run(&count).await.well().json()["matched"] != 300 {} };
    tokio::time::timeout(PATIENCE, all_dead)
        .await
        .expect("they die");

    let mut child = stage
        .command(&["retry", "--dead", "--yes"])
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap()).lines();
    let progress = tokio::time::timeout(PATIENCE, stderr.next_line()).await;
    let progress = progress.expect("it prints its progress").unwrap();
    assert_eq!(progress.as_deref(), Some("200 of 300"));
    let pid = child.id().unwrap().to_string();
    let sent = Command::new("kill").args(["-INT", &pid]).status().await;
    assert!(sent.unwrap().success());
    let mut advice = String::new();
    while let Some(line) = stderr.next_line().await.unwrap() {
        advice.push_str(&line);
    }
    assert_eq!(child.wait().await.unwrap().code(), Some(130));
    let job = advice.split(' ').find(|word| word.starts_with("job_"));
    let job = job
        .expect(&advice)
        .trim_end_matches(|c: char| !c.is_alphanumeric());
    let job = job.split('.').next().unwrap().to_owned();
    let running = stage.run(&["retry", "status", &job, "--json"]).await.well();
    assert_eq!(running.json()["state"], "running", "{advice}");
    let cancelled = stage.run(&["retry", "cancel", &job]).await.well();
    assert!(
        cancelled.out.contains("cancelled, 200 of 300"),
        "{}",
        cancelled.out
    );
}

#[tokio::test]
async fn on_a_terminal_it_asks_for_confirmation() {
    let stage = Stage::new().await;
    let webhook = impatient(&stage).await;
    let id = dead_delivery(&stage, &webhook).await;
    stage.receiver.answer(Answer::status(200));
    let line = ["retry", "--dead", "--webhook", &webhook];
    for (keys, code, status) in [
        ("n\r", 1, "dead"),
        ("\r", 1, "dead"),
        ("y\r", 0, "delivered"),
    ] {
        let mut terminal = Terminal::start(&stage, (120, 24), &line);
        terminal.shows("Requeue 1 delivery (dead, webhook_id").await;
        terminal.press(keys).await;
        let left = terminal.end().await;
        assert_eq!(left.code, code, "{}", left.screen);
        let row = if code == 0 {
            stage.gateway.settled(&id).await
        } else {
            stage.get(&format!("/v1/deliveries/{id}")).await
        };
        assert_eq!(row["status"], status, "{}", left.screen);
    }
}
