//! Batches of messages as Lambda delivers them.
#![allow(clippy::unwrap_used, reason = "test code")]

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use lambda_runtime::{Context, LambdaEvent};
use parking_lot::Mutex;
use postrider_domain::alert::Alert;
use postrider_domain::health::StatusReason;
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::time::Timestamp;
use postrider_gateway::mail::Addresses;
use postrider_notifier::Notifier;
use postrider_ports::mail::{Contact, Contacts, Email, Mail};
use postrider_ports::mail_outbox::SentLog;
use postrider_ports::{Error, Result};
use postrider_testkit::builders::NOW;
use postrider_testkit::clock::SteppedClock;
use serde_json::{Value, json};

const WEBHOOK: &str = "wh_agniwlcnlz7wbamsuo2mlvxh7a";

/// One webhook's contact; every other webhook was deleted.
struct OneContact(Contact);

#[async_trait]
impl Contacts for OneContact {
    async fn contact(&self, tenant: &TenantId, webhook: WebhookId) -> Result<Option<Contact>> {
        let is_this = tenant.as_str() == "default" && webhook.to_string() == WEBHOOK;
        Ok(is_this.then(|| self.0.clone()))
    }
}

/// Which sender claimed which e-mail; `None` once it was sent. Episodes are tested on the real table.
#[derive(Default)]
struct Claims(Mutex<HashMap<String, Option<String>>>);

#[async_trait]
impl SentLog for Claims {
    async fn claim_email(&self, alert: &Alert, by: &str, _: Timestamp) -> Result<bool> {
        let mut claims = self.0.lock();
        let holder = claims.entry(alert.id.clone());
        Ok(holder.or_insert_with(|| Some(by.to_owned())).as_deref() == Some(by))
    }

    async fn record_sent(&self, alert: &Alert) -> Result<()> {
        self.0.lock().insert(alert.id.clone(), None);
        Ok(())
    }
}

/// A mail service that can be made to fail.
#[derive(Default)]
struct TestMail {
    is_failing: Mutex<bool>,
    emails: Mutex<Vec<Email>>,
}

#[async_trait]
impl Mail for TestMail {
    async fn send(&self, email: Email) -> Result<()> {
        if *self.is_failing.lock() {
            return Err(Error::Unavailable("throttled".to_owned()));
        }
        self.emails.lock().push(email);
        Ok(())
    }
}

struct Scene {
    contact: Contact,
    sent_log: Arc<Claims>,
    mail: Option<Arc<TestMail>>,
    addresses: Addresses,
}

impl Default for Scene {
    fn default() -> Self {
        let contact = Contact {
            name: "orders".to_owned(),
            owner_email: Some("owner@example.com".to_owned()),
        };
        let addresses = Addresses {
            alert_address: Some("ops@example.com".to_owned()),
            public_url: Some("https://gateway.example.com/".to_owned()),
        };
        Self {
            contact,
            sent_log: Arc::default(),
            mail: Some(Arc::default()),
            addresses,
        }
    }
}

impl Scene {
    async fn handle(&self, event: Value) -> (Value, Vec<Email>) {
        let notifier = Notifier {
            contacts: Arc::new(OneContact(self.contact.clone())),
            sent_log: Arc::clone(&self.sent_log) as _,
            mail: self.mail.clone().map(|mail| mail as Arc<dyn Mail>),
            addresses: self.addresses.clone(),
            clock: Arc::new(SteppedClock::at(NOW)),
        };
        let event = LambdaEvent::new(serde_json::from_value(event).unwrap(), Context::default());
        let response = notifier.handle(event).await.unwrap();
        let emails = self.mail.as_ref().map(|mail| mail.emails.lock().clone());
        (
            serde_json::to_value(response).unwrap(),
            emails.unwrap_or_default(),
        )
    }
}

fn recorded() -> Value {
    serde_json::from_str(include_str!("events/batch.json")).unwrap()
}

fn messages(bodies: &[Value]) -> Value {
    let records = bodies.iter().enumerate().map(|(n, body)| {
        json!({
            "messageId": format!("message-{n}"), "body": body.to_string(),
            "attributes": {}, "messageAttributes": {},
        })
    });
    json!({"Records": records.collect::<Vec<_>>()})
}

fn failed(data: &Value) -> Value {
    json!({"specversion": "1.0", "id": "x", "type": "webhook.failed", "tenant": "default", "data": data})
}

fn failures(ids: &[&str]) -> Value {
    let failures: Vec<_> = ids.iter().map(|id| json!({"itemIdentifier": id})).collect();
    json!({"batchItemFailures": failures})
}

#[tokio::test]
async fn a_failing_webhook_is_mailed_to_its_owner_once() {
    let scene = Scene::default();
    let (response, emails) = scene.handle(recorded()).await;
    // A message that is not a notification fails alone; one that needs no e-mail is done, and so is a duplicate.
    assert_eq!(response, failures(&["message-unreadable"]));
    let subjects: Vec<_> = emails.iter().map(|it| it.subject.as_str()).collect();
    assert_eq!(
        subjects,
        [
            "Webhook 'orders' has failed after 5 retries",
            "Webhook 'orders' has failed 3 times in a row and is being retried"
        ]
    );
    let link = format!("https://gateway.example.com/inspector/webhooks/{WEBHOOK}");
    for email in emails {
        assert_eq!(email.to, "owner@example.com");
        for body in [&email.text, &email.html] {
            for part in ["HTTP status 500", "task.completed", &link] {
                assert!(body.contains(part), "{part} in {body}");
            }
            assert!(
                !body.contains("try later"),
                "the receiver's response is not forwarded: {body}"
            );
        }
    }
}

/// Developers invoke the function with this sample, so it must be a message that the gateway writes today.
#[tokio::test]
async fn the_sample_event_is_mailed_to_the_owner() {
    let sample: Value =
        serde_json::from_str(include_str!("../../../infra/events/notifier.json")).unwrap();
    let body = sample["Records"][0]["body"].as_str().unwrap();
    let notification: Value = serde_json::from_str(body).unwrap();
    let error = notification["data"]["last_failure"]["error"]
        .as_str()
        .unwrap();
    let reason = StatusReason::Exhausted {
        retries: 5,
        error: error.to_owned(),
    };
    assert_eq!(notification["data"]["reason"], reason.to_string());
    let (response, emails) = Scene::default().handle(sample).await;
    assert_eq!(response, failures(&[]));
    assert_eq!(
        emails[0].subject,
        "Webhook 'orders' has failed after 5 retries"
    );
    assert!(emails[0].text.contains("task.completed"));
}

#[tokio::test]
async fn without_an_owner_the_alert_address_is_mailed() {
    let mut scene = Scene::default();
    scene.contact.owner_email = None;
    let event = messages(&[failed(&json!({"webhook_id": WEBHOOK}))]);
    let (response, emails) = scene.handle(event).await;
    assert_eq!(response, failures(&[]));
    assert_eq!(emails[0].to, "ops@example.com");
    assert_eq!(emails[0].subject, "Webhook 'orders' has failed");
}

#[tokio::test]
async fn without_a_recipient_a_message_is_done() {
    let event = messages(&[failed(&json!({"webhook_id": WEBHOOK}))]);
    let mut nobody = Scene::default();
    nobody.contact.owner_email = None;
    nobody.addresses.alert_address = None;
    let no_sender = Scene {
        mail: None,
        ..Scene::default()
    };
    for scene in [nobody, no_sender] {
        assert_eq!(
            scene.handle(event.clone()).await,
            (failures(&[]), Vec::new())
        );
    }
}

#[tokio::test]
async fn a_deleted_webhook_or_one_that_fails_again_at_once_sends_no_email() {
    let other = "wh_agniwlcnlz7wbamsuo2mlvxh7q";
    let event = messages(&[
        failed(&json!({"webhook_id": other})),
        failed(&json!({"webhook_id": WEBHOOK, "again": true})),
    ]);
    assert_eq!(
        Scene::default().handle(event).await,
        (failures(&[]), Vec::new())
    );
}

#[tokio::test]
async fn an_email_that_could_not_be_sent_is_retried_and_then_sent() {
    let scene = Scene::default();
    let mail = scene.mail.clone().unwrap();
    *mail.is_failing.lock() = true;
    let bodies = [
        json!({"id": "y", "type": "delivery.dead", "tenant": "default", "data": {}}),
        failed(&json!({"webhook_id": WEBHOOK})),
    ];
    let (response, emails) = scene.handle(messages(&bodies)).await;
    assert_eq!(response, failures(&["message-1"]));
    assert_eq!(emails, []);
    *mail.is_failing.lock() = false;
    for _ in 0..2 {
        let (response, emails) = scene.handle(messages(&bodies)).await;
        assert_eq!((response, emails.len()), (failures(&[]), 1));
    }
}
