//! Batches of messages as Lambda hands them over.
#![allow(clippy::unwrap_used, reason = "test code")]

use std::sync::Arc;

use async_trait::async_trait;
use lambda_runtime::{Context, LambdaEvent};
use parking_lot::Mutex;
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_notifier::{Addresses, Notifier};
use postrider_ports::mail::{Contact, Contacts, Letter, Mail};
use postrider_ports::{Error, Result};
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

/// A letter box, or one that is jammed.
#[derive(Default)]
struct LetterBox {
    is_jammed: bool,
    letters: Mutex<Vec<Letter>>,
}

#[async_trait]
impl Mail for LetterBox {
    async fn send(&self, letter: Letter) -> Result<()> {
        if self.is_jammed {
            return Err(Error::Unavailable("throttled".to_owned()));
        }
        self.letters.lock().push(letter);
        Ok(())
    }
}

struct Scene {
    contact: Contact,
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
            mail: Some(Arc::default()),
            addresses,
        }
    }
}

impl Scene {
    async fn handle(&self, event: Value) -> (Value, Vec<Letter>) {
        let mail = self.mail.clone().map(|mail| mail as Arc<dyn Mail>);
        let contacts = Arc::new(Known(self.contact.clone()));
        let notifier = Notifier::new(contacts, mail, self.addresses.clone());
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
        let body = body
            .as_str()
            .map_or_else(|| body.to_string(), str::to_owned);
        json!({
            "messageId": format!("message-{n}"), "body": body,
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
async fn a_failed_webhook_is_mailed_to_its_owner() {
    let (response, letters) = Scene::default().handle(recorded()).await;
    // One that is no announcement fails alone; one that is nobody's business is done.
    assert_eq!(response, failures(&["message-unreadable"]));
    assert_eq!(letters.len(), 2, "raw and in the topic's envelope");
    for letter in letters {
        assert_eq!(letter.to, "owner@example.com");
        assert_eq!(
            letter.subject,
            "Webhook 'orders' has failed after 5 retries"
        );
        let link = format!("https://gateway.example.com/v1/webhooks/{WEBHOOK}");
        for body in [&letter.text, &letter.html] {
            assert!(
                body.contains("Webhook 'orders' has failed after 5 retries")
                    || body.contains("Webhook &#39;orders&#39;")
            );
            assert!(body.contains("a delivery failed after 5 retries: HTTP status 500"));
            assert!(body.contains(&link), "{body}");
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
async fn a_deleted_webhook_is_nobodys_business() {
    let other = "wh_agniwlcnlz7wbamsuo2mlvxh7q";
    let event = messages(&[failed(&json!({"webhook_id": other}))]);
    assert_eq!(
        Scene::default().handle(event).await,
        (failures(&[]), Vec::new())
    );
}

#[tokio::test]
async fn what_could_not_be_sent_comes_again() {
    let scene = Scene {
        mail: Some(Arc::new(LetterBox {
            is_jammed: true,
            ..LetterBox::default()
        })),
        ..Scene::default()
    };
    let bodies = [
        json!({"type": "delivery.dead", "tenant": "default", "data": {}}),
        failed(&json!({"webhook_id": WEBHOOK})),
    ];
    let (response, letters) = scene.handle(messages(&bodies)).await;
    assert_eq!(response, failures(&["message-1"]));
    assert_eq!(letters, []);
}

#[tokio::test]
async fn what_a_receiver_or_an_owner_wrote_is_text_and_never_markup() {
    let evil = "</p><img src=x onerror=alert(1)>\"'&";
    let mut scene = Scene::default();
    scene.contact.name = evil.to_owned();
    let event = messages(&[failed(&json!({"webhook_id": WEBHOOK, "reason": evil}))]);
    let (_, letters) = scene.handle(event).await;
    assert!(!letters[0].html.contains("<img"), "{}", letters[0].html);
    assert!(letters[0].text.contains(evil), "{}", letters[0].text);
    assert!(letters[0].subject.contains(evil));
}
