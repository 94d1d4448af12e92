//! The commands for operators: the real binary against a real gateway, on a real terminal where it needs one.

mod following;
mod relay;
mod resuming;
mod retrying;
mod shadowing;
mod showing;
mod starting;
mod terminal;
mod watching;

use postrider_testkit::receiver::Answer;
use serde_json::json;

use crate::inbound_command::Stage;

/// A webhook to the stage's receiver that gives up after one attempt.
async fn impatient(stage: &Stage) -> String {
    let retry = json!({"profile": "gateway", "max_attempts": 1, "classifier": "by-status"});
    stage.gateway.webhook(&stage.receiver.url(), &retry).await
}

/// A delivery that the receiver answered with 500 and that is dead.
async fn dead_delivery(stage: &Stage, webhook: &str) -> String {
    stage
        .receiver
        .answer(Answer::status(500).body("out of <b>order</b>"));
    let id = stage.gateway.publish(webhook, r#"{"n": 1.00}"#).await;
    assert_eq!(stage.gateway.settled(&id).await["status"], "dead");
    id
}
