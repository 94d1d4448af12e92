//! E-mails of the stack, read back from SES.

use std::time::Duration;

use http::Method;
use postrider_testkit::receiver::{Answer, Receiver};
use serde_json::{Value, json};

use super::stack::{SENDER, Stack};
use crate::command::PATIENCE;

const WARNED: &str = "warned@example.com";

/// The e-mails to this address.
async fn mails_to(stack: &Stack, address: &str) -> Vec<Value> {
    let sent = format!("{}/_ministack/ses/messages", stack.emulator.url());
    let mails: Value = reqwest::get(&sent).await.unwrap().json().await.unwrap();
    let accounts = mails["messages"].as_object().unwrap();
    let mails = accounts.values().flat_map(|sent| sent.as_array().unwrap());
    mails
        .filter(|mail| mail["To"] == json!([address]))
        .cloned()
        .collect()
}

/// The first e-mail to this address.
async fn mail_to(stack: &Stack, address: &str) -> Value {
    let mut looks = tokio::time::interval(Duration::from_millis(100));
    let wait = async {
        loop {
            looks.tick().await;
            if let Some(mail) = mails_to(stack, address).await.first() {
                return mail.clone();
            }
        }
    };
    tokio::time::timeout(PATIENCE, wait)
        .await
        .expect("an e-mail arrives")
}

pub(super) async fn three_failures_in_a_row_are_one_warning(stack: &Stack) {
    let receiver = Receiver::start().await;
    receiver.answer(Answer::status(503));
    let draft = json!({"name": "unstable", "target_url": receiver.url(), "event_types": ["*"],
        "owner_email": WARNED, "retry": {"max_attempts": 1}});
    let webhook = stack
        .api
        .call(Method::POST, "/v1/webhooks", Some(draft))
        .await;
    let webhook = webhook["id"].as_str().unwrap();
    for _ in 0..3 {
        let delivery = stack.api.publish(webhook, "{}").await;
        assert_eq!(stack.api.settled(&delivery).await["status"], "dead");
    }
    let mail = mail_to(stack, WARNED).await;
    assert_eq!(mail["Source"], SENDER, "{mail}");
    assert_eq!(
        mail["Subject"],
        "Webhook 'unstable' has failed 3 times in a row and is being retried"
    );
    for body in ["BodyText", "BodyHtml"] {
        let body = mail[body].as_str().unwrap();
        for part in ["HTTP status 503", "task.completed", webhook] {
            assert!(body.contains(part), "{part} in {body}");
        }
    }
    hand_over_again(stack, webhook).await;
    assert_eq!(mails_to(stack, WARNED).await.len(), 1);
}

/// Hands the notifier another warning of the same hour, twice: it accepts them and sends no e-mail.
async fn hand_over_again(stack: &Stack, webhook: &str) {
    let now = stack
        .api
        .call(Method::GET, &format!("/v1/webhooks/{webhook}"), None)
        .await;
    let warning = json!({"specversion": "1.0", "id": "once more", "type": "webhook.degraded",
        "tenant": "default", "time": now["created_at"],
        "data": {"webhook_id": webhook, "failure_count": 3}});
    let message = |id: &str| json!({"messageId": id, "body": warning.to_string(), "attributes": {}, "messageAttributes": {}});
    let event = json!({"Records": [message("one"), message("other")]});
    let answer = stack.invoke("notifier", &event).await;
    assert_eq!(answer["batchItemFailures"], json!([]), "{answer}");
}
