//! `postrider listen`, also with a program to forward to.

use std::time::Duration;

use http::Method;
use postrider_testkit::receiver::{Answer, Receiver};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use super::Stage;
use crate::command::PATIENCE;

struct Listener {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    url: String,
}

impl Listener {
    async fn start(stage: &Stage, args: &[&str]) -> Self {
        let line = [&["listen", "--port", "0", "--json"], args].concat();
        let mut child = stage.command(&line).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap()).lines();
        let first = tokio::time::timeout(PATIENCE, stderr.next_line()).await;
        let first = first
            .expect("it prints its address")
            .unwrap()
            .expect("it runs");
        let url = first
            .strip_prefix("Listening on ")
            .expect(&first)
            .to_owned();
        tokio::spawn(async move { while let Ok(Some(_)) = stderr.next_line().await {} });
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines, url }
    }

    async fn next(&mut self) -> Value {
        let line = tokio::time::timeout(PATIENCE, self.lines.next_line()).await;
        let line = line.expect("something arrives").unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }

    async fn end(mut self) {
        let pid = self.child.id().unwrap().to_string();
        let sent = Command::new("kill").args(["-TERM", &pid]).status().await;
        assert!(sent.unwrap().success());
        let ended = tokio::time::timeout(PATIENCE, self.child.wait()).await;
        assert!(ended.expect("it ends").unwrap().success());
    }
}

#[tokio::test]
async fn a_verified_request_is_forwarded_byte_for_byte_and_the_response_returned() {
    let stage = Stage::new().await;
    let program = Receiver::start().await;
    program.answer(Answer::status(418).body("short and stout"));
    let args = [
        "--register",
        "--event-types",
        "door.*",
        "--forward-to",
        &program.url(),
    ];
    let mut listening = Listener::start(&stage, &args).await;
    let payload = r#"{ "b": 1.00,  "a":"ä" }"#;
    stage
        .run(&["send", "door.opened", payload, "--session", "s-1"])
        .await
        .well();

    let shown = listening.next().await;
    assert_eq!(
        (&shown["verdict"], &shown["answer"]),
        (&json!("genuine"), &json!(418))
    );
    assert_eq!(shown["forwarded"]["answer_body"], "short and stout");
    let received = program.received(1).await;
    assert_eq!(received[0].body, payload);
    assert_eq!(received[0].path, "/hook");
    assert_eq!(received[0].header("x-webhook-event"), "door.opened");
    assert_eq!(received[0].header("webhook-id"), shown["webhook_id"]);
    assert!(received[0].header("webhook-signature").starts_with("v1,"));
    assert!(received[0].header("user-agent").starts_with("Postrider/"));

    let delivery = format!("/v1/deliveries/{}", shown["webhook_id"].as_str().unwrap());
    let mut polls = tokio::time::interval(Duration::from_millis(50));
    let attempt = async {
        loop {
            polls.tick().await;
            let row = stage.get(&delivery).await;
            if let Some(attempt) = row["attempts"].get(0) {
                return attempt.clone();
            }
        }
    };
    let attempt = tokio::time::timeout(PATIENCE, attempt)
        .await
        .expect("it is recorded");
    assert_eq!(attempt["status_code"], 418);
    assert_eq!(attempt["response_body"], "short and stout");
    listening.end().await;
    assert_eq!(
        stage.get("/v1/webhooks").await["items"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[tokio::test]
async fn unverified_requests_are_not_forwarded_and_an_unreachable_program_is_a_bad_gateway() {
    let stage = Stage::new().await;
    let program = Receiver::start().await;
    let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    let args = ["--secret", secret, "--forward-to", &program.url()];
    let mut listening = Listener::start(&stage, &args).await;
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let forged = client
        .post(&listening.url)
        .header("x-webhook-signature", "sha256=00");
    for request in [forged, client.post(&listening.url)] {
        assert_eq!(request.body("x").send().await.unwrap().status(), 401);
        assert!(listening.next().await["forwarded"]["error"].is_string());
    }
    assert!(program.requests().is_empty());
    listening.end().await;

    let args = [
        "--forward-to",
        "http://127.0.0.1:1/",
        "--forward-unverified",
    ];
    let mut listening = Listener::start(&stage, &args).await;
    let answer = client.post(&listening.url).body("x").send().await.unwrap();
    assert_eq!(answer.status(), 502);
    assert!(listening.next().await["forwarded"]["error"].is_string());
    listening.end().await;

    let refused = stage
        .run(&["listen", "--port", "0", "--forward-to", "3000"])
        .await;
    assert_eq!(refused.code, 2);
    assert!(
        refused.err.contains("--forward-unverified"),
        "{}",
        refused.err
    );
}

#[tokio::test]
async fn events_of_a_source_are_routed_to_a_listener_while_it_runs() {
    let stage = Stage::new().await;
    let (id, secret) = stage.source("github").await;
    let routes = format!("/v1/sources/{id}/routes");
    let before = stage.get(&routes).await;
    let args = [
        "--register",
        "--source",
        &id,
        "--intent",
        "try",
        "--event-types",
        "pull_request.*",
    ];
    let mut listening = Listener::start(&stage, &args).await;
    stage
        .run(&["trigger", "github", "--secret", &secret])
        .await
        .well();
    let shown = listening.next().await;
    assert_eq!(
        (&shown["intent"], &shown["verdict"]),
        (&json!("try"), &json!("genuine"))
    );
    assert_eq!(shown["event_type"], "pull_request.opened");
    listening.end().await;
    assert_eq!(stage.get(&routes).await, before);
    let hooks = stage.gateway.call(Method::GET, "/v1/webhooks", None).await;
    assert_eq!(hooks["items"].as_array().unwrap().len(), 1);
}
