//! `postrider webhooks show` and `resume` for a failed webhook.

use postrider_testkit::receiver::Answer;
use serde_json::json;

use crate::inbound_command::Stage;

#[tokio::test]
async fn a_failed_webhook_is_shown_with_its_failure_and_resumed() {
    let stage = Stage::new().await;
    let once = json!({"profile": "public-api", "max_attempts": 1});
    let webhook = stage.gateway.webhook(&stage.receiver.url(), &once).await;
    stage.receiver.answer(Answer::status(500));
    let given_up = stage.gateway.publish(&webhook, "{}").await;
    assert_eq!(stage.gateway.settled(&given_up).await["status"], "dead");
    let shown = stage.run(&["webhooks", "show", &webhook]).await.well().out;
    let resume = format!("postrider webhooks resume {webhook}");
    for part in ["failed", "5/s", "HTTP status 500", &given_up, &resume] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    let waiting = stage.gateway.publish(&webhook, "{}").await;
    stage.receiver.answer(Answer::status(200));
    let resumed = stage.run(&["--json", "webhooks", "resume", &webhook]).await;
    let resumed = resumed.well().json();
    assert_eq!(
        (&resumed["status"], &resumed["current_rate"]),
        (&json!("active"), &json!(1.0))
    );
    assert_eq!(resumed["last_failure"]["delivery_id"], json!(given_up));
    assert_eq!(stage.gateway.settled(&waiting).await["status"], "delivered");
}

#[tokio::test]
async fn every_paused_webhook_is_resumed_and_no_other() {
    let stage = Stage::new().await;
    let once = json!({"profile": "public-api", "max_attempts": 1});
    let failed = stage.gateway.webhook(&stage.receiver.url(), &once).await;
    stage.receiver.answer(Answer::status(500));
    let dead = stage.gateway.publish(&failed, "{}").await;
    assert_eq!(stage.gateway.settled(&dead).await["status"], "dead");
    let mut paused = Vec::new();
    for _ in 0..2 {
        let webhook = stage.gateway.webhook(&stage.receiver.url(), &once).await;
        stage.run(&["webhooks", "pause", &webhook]).await.well();
        paused.push(webhook);
    }
    let resumed = stage.run(&["webhooks", "resume", "--paused"]).await.well();
    assert!(
        resumed.err.contains("2 webhooks resumed."),
        "{}",
        resumed.err
    );
    let status = async |id: &str| {
        let shown = stage.run(&["--json", "webhooks", "show", id]).await.well();
        shown.json()["status"].clone()
    };
    for webhook in &paused {
        assert_eq!(status(webhook).await, "active");
    }
    assert_eq!(status(&failed).await, "failed");
}

#[tokio::test]
async fn a_delivery_of_a_failed_webhook_is_on_hold_and_not_waited_for() {
    let stage = Stage::new().await;
    let once = json!({"profile": "public-api", "max_attempts": 1});
    let webhook = stage.gateway.webhook(&stage.receiver.url(), &once).await;
    stage.receiver.answer(Answer::status(500));
    let dead = stage.gateway.publish(&webhook, "{}").await;
    assert_eq!(stage.gateway.settled(&dead).await["status"], "dead");
    let resume = format!("postrider webhooks resume {webhook}");
    let shown = stage.run(&["show", &dead]).await.well().out;
    assert!(shown.contains(&resume), "{shown}");

    let send = ["send", "a.b", "--webhook", &webhook, "--wait"];
    let sent = stage.run(&send).await;
    assert_eq!(sent.code, 1, "{}", sent.err);
    assert!(sent.err.contains(&resume), "{}", sent.err);

    let retried = stage.run(&["retry", &dead]).await.well();
    let on_hold = format!("on hold until {webhook} is resumed");
    assert!(retried.out.contains(&on_hold), "{}", retried.out);
    for command in [&["show", &dead] as &[&str], &["deliveries", "list"]] {
        let shown = stage.run(command).await.well().out;
        assert!(shown.contains(&on_hold), "{command:?}: {shown}");
    }
}
