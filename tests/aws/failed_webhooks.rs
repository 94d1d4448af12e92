//! Failed webhooks and how they are resumed.

use std::time::Duration;

use http::Method;
use postrider_testkit::receiver::{Answer, Receiver};
use serde_json::{Value, json};

use super::stack::Stack;
use crate::command::PATIENCE;

const OWNER: &str = "told-once@example.com";
/// The first probe is due a minute after the failure. On a slow machine it is made while the receiver still fails, and the
/// next ones are minutes apart.
const TESTED_AND_RESUMED: Duration = Duration::from_secs(600);

/// A failed webhook and its receiver.
pub(super) struct Failed {
    receiver: Receiver,
    path: String,
    waiting: Vec<String>,
}

/// A webhook that failed because its receiver is down, with deliveries on hold.
async fn failed(stack: &Stack, name: &str, auto_resume: bool, waiting: usize) -> Failed {
    let receiver = Receiver::start().await;
    receiver.answer(Answer::status(500));
    let retry = json!({"profile": "custom", "delays_seconds": [1], "on_exhausted": "fail-webhook"});
    let draft = json!({"name": name, "target_url": receiver.url(), "event_types": ["*"],
        "owner_email": OWNER, "auto_resume": auto_resume, "retry": retry});
    let made = stack
        .api
        .call(Method::POST, "/v1/webhooks", Some(draft))
        .await;
    let webhook = made["id"].as_str().unwrap().to_owned();
    let first = stack.api.publish(&webhook, "1").await;
    assert_eq!(stack.api.settled(&first).await["status"], "dead");
    let mut failed = Failed {
        receiver,
        path: format!("/v1/webhooks/{webhook}"),
        waiting: Vec::new(),
    };
    failed.becomes(stack, "failed", PATIENCE).await;
    // The next deliveries are not exhausted by the first attempts after a resume.
    let patient = json!({"retry": {"profile": "custom", "delays_seconds": [5, 5, 5]}});
    stack
        .api
        .call(Method::PATCH, &failed.path, Some(patient))
        .await;
    for _ in 0..waiting {
        failed.waiting.push(stack.api.publish(&webhook, "2").await);
    }
    failed
}

impl Failed {
    /// Returns when the webhook has this status; the poller ticks meanwhile.
    async fn becomes(&self, stack: &Stack, status: &str, within: Duration) -> Value {
        let tick = include_str!("../../infra/events/poller.json");
        let tick: Value = serde_json::from_str(tick).unwrap();
        let mut looks = tokio::time::interval(Duration::from_secs(1));
        let wait = async {
            loop {
                looks.tick().await;
                let webhook = stack.api.call(Method::GET, &self.path, None).await;
                if webhook["status"] == status {
                    return webhook;
                }
                stack.invoke("poller", &tick).await;
            }
        };
        let became = tokio::time::timeout(within, wait).await;
        became.unwrap_or_else(|_| panic!("{} does not become {status}", self.path))
    }
}

async fn mails(stack: &Stack, name: &str) -> usize {
    let sent = format!("{}/_ministack/ses/messages", stack.emulator.url());
    let mails: Value = reqwest::get(&sent).await.unwrap().json().await.unwrap();
    let accounts = mails["messages"].as_object().unwrap();
    let mails = accounts.values().flat_map(|sent| sent.as_array().unwrap());
    let subject = format!("Webhook '{name}' has failed");
    let about = |mail: &&Value| mail["Subject"].as_str().unwrap().starts_with(&subject);
    mails.filter(about).count()
}

pub(super) async fn a_resumed_webhook_that_fails_at_once_sends_no_second_email(stack: &Stack) {
    let failed = failed(stack, "relapsing", false, 3).await;
    let mut looks = tokio::time::interval(Duration::from_millis(100));
    let told = async {
        while mails(stack, "relapsing").await == 0 {
            looks.tick().await;
        }
    };
    tokio::time::timeout(PATIENCE, told)
        .await
        .expect("the owner gets an e-mail");
    let resume = format!("{}/resume", failed.path);
    let resumed = stack.api.call(Method::POST, &resume, None).await;
    assert_eq!(resumed["current_rate"], 1.0, "{resumed}");
    let again = failed.becomes(stack, "failed", PATIENCE).await;
    let reason = again["status_reason"].as_str().unwrap();
    assert!(
        reason.contains("attempts after the resume failed"),
        "{again}"
    );
    failed.receiver.answer(Answer::status(200));
    stack.api.call(Method::POST, &resume, None).await;
    for delivery in &failed.waiting {
        let row = stack.ticked_until_settled(delivery).await;
        assert_eq!(row["status"], "delivered", "{row}");
    }
    assert_eq!(mails(stack, "relapsing").await, 1);
}

/// Started early and checked late: the first probe is a minute away.
pub(super) async fn a_webhook_with_auto_resume_fails(stack: &Stack) -> Failed {
    failed(stack, "failed_webhooks", true, 1).await
}

pub(super) async fn it_is_probed_and_resumes_automatically(stack: &Stack, failed: Failed) {
    failed.receiver.answer(Answer::status(200));
    let webhook = failed.becomes(stack, "active", TESTED_AND_RESUMED).await;
    let reason = webhook["status_reason"].as_str().unwrap();
    assert!(reason.contains("a probe succeeded"), "{webhook}");
    for delivery in &failed.waiting {
        let row = stack.ticked_until_settled(delivery).await;
        assert_eq!(row["status"], "delivered", "{row}");
    }
    let requests = failed.receiver.requests();
    let tests = requests
        .iter()
        .filter(|request| request.header("x-webhook-event") == "postrider.test");
    assert!(tests.count() >= 1);
}
