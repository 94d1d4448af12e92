//! Notifications of the stack: events on the topic, e-mails to owners.

use std::collections::BTreeSet;
use std::time::Duration;

use http::Method;
use postrider_testkit::receiver::{Answer, Receiver};
use serde_json::{Value, json};

use super::queue;
use super::stack::{SENDER, Stack};
use crate::command::PATIENCE;

const OWNER: &str = "owner@example.com";

async fn failing_webhook(stack: &Stack, receiver: &Receiver) -> String {
    receiver.answer(Answer::status(500));
    let retry =
        json!({"profile": "custom", "delays_seconds": [1, 1], "on_exhausted": "fail-webhook"});
    let draft = json!({"name": "orders", "target_url": receiver.url(), "event_types": ["*"],
        "owner_email": OWNER, "retry": retry});
    let webhook = stack
        .api
        .call(Method::POST, "/v1/webhooks", Some(draft))
        .await;
    webhook["id"].as_str().unwrap().to_owned()
}

pub(super) async fn a_failing_receiver_causes_retries_a_dead_delivery_a_notification_and_an_email(
    stack: &Stack,
) {
    let receiver = Receiver::start().await;
    let webhook = failing_webhook(stack, &receiver).await;
    let ends = ["delivery.dead", "webhook.failed"];
    let filter = json!({"type": ends, "webhook_id": [webhook]});
    let subscribed = queue::subscribe(stack, "ends", filter).await;
    let delivery = stack.api.publish(&webhook, "{}").await;
    let row = stack.api.settled(&delivery).await;
    assert_eq!(row["status"], "dead", "{row}");
    assert_eq!(row["attempt_count"], 3, "{row}");
    let retries: Vec<_> = receiver
        .requests()
        .iter()
        .map(|request| request.header("x-webhook-retry").to_owned())
        .collect();
    assert_eq!(retries, ["0", "1", "2"]);
    let mut wanted = BTreeSet::from(ends);
    while !wanted.is_empty() {
        let event: Value = serde_json::from_str(&queue::receive(stack, &subscribed).await).unwrap();
        assert_eq!(event["source"], "gateway:webhooks");
        assert_eq!(event["data"]["webhook_id"], webhook, "{event}");
        wanted.remove(event["type"].as_str().unwrap());
    }
    let mail = mail(stack).await;
    assert_eq!(mail["Source"], SENDER, "{mail}");
    let subject = mail["Subject"].as_str().unwrap();
    assert!(
        subject.starts_with("Webhook 'orders' has failed after"),
        "{mail}"
    );
}

/// The first e-mail to the owner.
async fn mail(stack: &Stack) -> Value {
    let sent = format!("{}/_ministack/ses/messages", stack.emulator.url());
    let mut looks = tokio::time::interval(Duration::from_millis(100));
    let wait = async {
        loop {
            looks.tick().await;
            let mails: Value = reqwest::get(&sent).await.unwrap().json().await.unwrap();
            let accounts = mails["messages"].as_object().unwrap();
            let mut mails = accounts.values().flat_map(|sent| sent.as_array().unwrap());
            if let Some(mail) = mails.find(|mail| mail["To"] == json!([OWNER])) {
                return mail.clone();
            }
        }
    };
    tokio::time::timeout(PATIENCE, wait)
        .await
        .expect("an e-mail arrives")
}

pub(super) async fn deliveries_of_a_failed_webhook_go_out_when_it_is_resumed(stack: &Stack) {
    let receiver = Receiver::start().await;
    let webhook = failing_webhook(stack, &receiver).await;
    let path = format!("/v1/webhooks/{webhook}");
    let first = stack.api.publish(&webhook, "1").await;
    assert_eq!(stack.api.settled(&first).await["status"], "dead");
    let mut looks = tokio::time::interval(Duration::from_millis(100));
    let failed = async {
        while stack.api.call(Method::GET, &path, None).await["status"] != "failed" {
            looks.tick().await;
        }
    };
    tokio::time::timeout(PATIENCE, failed)
        .await
        .expect("the webhook fails");
    receiver.answer(Answer::status(200));
    let waiting = stack.api.publish(&webhook, "2").await;
    let resume = format!("{path}/resume");
    stack.api.call(Method::POST, &resume, None).await;
    let row = stack.ticked_until_settled(&waiting).await;
    assert_eq!(row["status"], "delivered", "{row}");
    let last = receiver.requests().pop().unwrap();
    assert_eq!(last.body, "2");
    assert_eq!(
        stack.api.settled(&first).await["status"],
        "dead",
        "the dead delivery stays dead"
    );
}
