//! Batches of messages as Lambda hands them over.
#![allow(clippy::unwrap_used, reason = "test code")]

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use lambda_runtime::{Context, LambdaEvent};
use parking_lot::Mutex;
use postrider_domain::alert::Alert;
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::time::Timestamp;
use postrider_gateway::mail::Addresses;
use postrider_notifier::Notifier;
use postrider_ports::letters::Ledger;
use postrider_ports::mail::{Contact, Contacts, Letter, Mail};
use postrider_ports::{Error, Result};
use postrider_testkit::builders::NOW;
use postrider_testkit::clock::SteppedClock;
use serde_json::{Value, json};

const WEBHOOK: &str = "wh_agniwlcnlz7wbamsuo2mlvxh7a";

/// One webhook's contact; every other webhook was deleted.
struct Known(Contact);

#[async_trait]
impl Contacts for Known {
    async fn contact(&self, tenant: &TenantId, webhook: WebhookId) -> Result<Option<Contact>> {
        let is_known = tenant.as_str() == "default" && webhook.to_string() == WEBHOOK;
        Ok(is_known.then(|| self.0.clone()))
    }
}

/// Who took which letter on; none once it was sent. Episodes are proven on the real table.
#[derive(Default)]
struct Taken(Mutex<HashMap<String, Option<String>>>);

#[async_trait]
impl Ledger for Taken {
    async fn take_letter(&self, alert: &Alert, by: &str, _: Timestamp) -> Result<bool> {
        let mut taken = self.0.lock();
        let holder = taken.entry(alert.id.clone());
        Ok(holder.or_insert_with(|| Some(by.to_owned())).as_deref() == Some(by))
    }

    async fn letter_sent(&self, alert: &Alert) -> Result<()> {
        self.0.lock().insert(alert.id.clone(), None);
        Ok(())
    }
}

/// A letter box, or one that is jammed.
#[derive(Default)]
struct LetterBox {
    is_jammed: Mutex<bool>,
    letters: Mutex<Vec<Letter>>,
}

#[async_trait]
impl Mail for LetterBox {
    async fn send(&self, letter: Letter) -> Result<()> {
        if *self.is_jammed.lock() {
            return Err(Error::Unavailable("throttled".to_owned()));
        }
        self.letters.lock().push(letter);
        Ok(())
    }
}

struct Scene {
    contact: Contact,
    ledger: Arc<Taken>,
    mail: Option<Arc<LetterBox>>,
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
            ledger: Arc::default(),
            mail: Some(Arc::default()),
            addresses,
        }
    }
}

impl Scene {
    async fn handle(&self, event: Value) -> (Value, Vec<Letter>) {
        let notifier = Notifier {
            contacts: Arc::new(Known(self.contact.clone())),
            ledger: Arc::clone(&self.ledger) as _,
            mail: self.mail.clone().map(|mail| mail as Arc<dyn Mail>),
            addresses: self.addresses.clone(),
            clock: Arc::new(SteppedClock::at(NOW)),
        };
        let event = LambdaEvent::new(serde_json::from_value(event).unwrap(), Context::default());
        let response = notifier.handle(event).await.unwrap();
        let letters = self.mail.as_ref().map(|mail| mail.letters.lock().clone());
        (
            serde_json::to_value(response).unwrap(),
            letters.unwrap_or_default(),
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
async fn trouble_is_mailed_to_the_owner_once() {
    let scene = Scene::default();
    let (response, letters) = scene.handle(recorded()).await;
    // One that is no announcement fails alone; one that is nobody's business is done, and so is one that came twice.
    assert_eq!(response, failures(&["message-unreadable"]));
    let subjects: Vec<_> = letters.iter().map(|it| it.subject.as_str()).collect();
    assert_eq!(
        subjects,
        [
            "Webhook 'orders' has failed after 5 retries",
            "Webhook 'orders' has failed 3 times in a row and is retried"
        ]
    );
    let link = format!("https://gateway.example.com/inspector/webhooks/{WEBHOOK}");
    for letter in letters {
        assert_eq!(letter.to, "owner@example.com");
        for body in [&letter.text, &letter.html] {
            for part in ["HTTP status 500", "task.completed", &link] {
                assert!(body.contains(part), "{part} in {body}");
            }
            assert!(
                !body.contains("try later"),
                "what a receiver wrote stays here: {body}"
            );
        }
    }
}

#[tokio::test]
async fn without_an_owner_the_alert_address_is_told() {
    let mut scene = Scene::default();
    scene.contact.owner_email = None;
    let event = messages(&[failed(&json!({"webhook_id": WEBHOOK}))]);
    let (response, letters) = scene.handle(event).await;
    assert_eq!(response, failures(&[]));
    assert_eq!(letters[0].to, "ops@example.com");
    assert_eq!(letters[0].subject, "Webhook 'orders' has failed");
}

#[tokio::test]
async fn with_nobody_to_tell_a_message_is_done() {
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
async fn a_deleted_webhook_or_one_that_fails_again_at_once_is_nobodys_business() {
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
async fn what_could_not_be_sent_comes_again_and_is_sent_then() {
    let scene = Scene::default();
    let mail = scene.mail.clone().unwrap();
    *mail.is_jammed.lock() = true;
    let bodies = [
        json!({"id": "y", "type": "delivery.dead", "tenant": "default", "data": {}}),
        failed(&json!({"webhook_id": WEBHOOK})),
    ];
    let (response, letters) = scene.handle(messages(&bodies)).await;
    assert_eq!(response, failures(&["message-1"]));
    assert_eq!(letters, []);
    *mail.is_jammed.lock() = false;
    for _ in 0..2 {
        let (response, letters) = scene.handle(messages(&bodies)).await;
        assert_eq!((response, letters.len()), (failures(&[]), 1));
    }
}
