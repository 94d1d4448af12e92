//! Notifications, as the notifier gets them: directly, or in the envelope of a topic.

use std::sync::Arc;

use async_trait::async_trait;
use aws_lambda_events::event::sqs::SqsEvent;
use lambda_runtime::LambdaEvent;
use parking_lot::Mutex;
use postrider_domain::alert::Alert;
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::time::Timestamp;
use postrider_gateway::mail::Addresses;
use postrider_notifier::Notifier;
use postrider_ports::mail::{Contact, Contacts, Email, Mail};
use postrider_ports::mail_outbox::SentLog;
use postrider_ports::{Error, Result};
use serde_json::json;
use tokio::runtime::Builder;

use super::clock::{HurriedClock, context};
use super::{Event, Trouble, sorted};
use crate::hostile::Outcome;

const SAMPLES: [&str; 2] = [
    include_str!("../../../infra/events/notifier.json"),
    include_str!("../../../functions/notifier/tests/events/batch.json"),
];
const OWNER: &str = "owner@example.com";
/// The id of the message that nothing is wrong with.
const INTACT: &str = "intact";
const INTACT_WEBHOOK: &str = "wh_agniwlcnlz7wbamsuo2mlvxh7q";

/// Every webhook has the same owner.
#[derive(Default)]
struct Post {
    is_down: bool,
    emails: Mutex<Vec<Email>>,
}

#[async_trait]
impl Contacts for Post {
    async fn contact(&self, _: &TenantId, _: WebhookId) -> Result<Option<Contact>> {
        Ok(Some(Contact {
            name: "orders".to_owned(),
            owner_email: Some(OWNER.to_owned()),
        }))
    }
}

#[async_trait]
impl SentLog for Post {
    async fn claim_email(&self, _: &Alert, _: &str, _: Timestamp) -> Result<bool> {
        Ok(true)
    }

    async fn record_sent(&self, _: &Alert) -> Result<()> {
        Ok(())
    }
}

#[async_trait]
impl Mail for Post {
    async fn send(&self, email: Email) -> Result<()> {
        if self.is_down {
            return Err(Error::Unavailable("throttled".to_owned()));
        }
        self.emails.lock().push(email);
        Ok(())
    }
}

/// # Panics
/// When a message that cannot be read is not reported or keeps another from being handled, or an e-mail contains markup that
/// came with a notification.
pub(super) fn hand(event: &Event<'_>, trouble: Trouble) -> Outcome {
    let Some(mut handed) = event.json(&SAMPLES) else {
        return Outcome::Nothing;
    };
    let is_batch = super::records(&handed).is_some();
    if is_batch {
        let notification = json!({
            "specversion": "1.0", "id": "x", "type": "webhook.failed", "tenant": "default",
            "data": {"webhook_id": INTACT_WEBHOOK},
        });
        let message = json!({"messageId": INTACT, "body": notification.to_string()});
        handed["Records"].as_array_mut().unwrap().push(message);
    }
    let about = format!("{trouble:?} {handed}");
    // Otherwise Lambda reports the whole batch as failed.
    let Ok(batch) = serde_json::from_value::<SqsEvent>(handed) else {
        return Outcome::Rejected;
    };
    let ids = sorted(
        batch
            .records
            .iter()
            .map(|it| it.message_id.clone().unwrap_or_default()),
    );
    let post = Arc::new(Post {
        is_down: trouble.is_down,
        ..Post::default()
    });
    let notifier = Notifier {
        contacts: Arc::clone(&post) as _,
        sent_log: Arc::clone(&post) as _,
        mail: Some(Arc::clone(&post) as _),
        addresses: Addresses {
            alert_address: None,
            public_url: Some("https://gateway.example.com/".to_owned()),
        },
        clock: Arc::new(HurriedClock::default()),
    };
    let runtime = Builder::new_current_thread().build().unwrap();
    let event = LambdaEvent::new(batch, context());
    let response = runtime.block_on(notifier.handle(event)).unwrap();
    let failures = response.batch_item_failures.into_iter();
    let failed = sorted(failures.map(|failure| failure.item_identifier));
    let emails = post.emails.lock();
    let is_known = |id: &String| ids.binary_search(id).is_ok();
    assert!(failed.iter().all(is_known), "{about}");
    assert!(failed.len() + emails.len() <= ids.len(), "{about}");
    if is_batch {
        let is_reported = failed.iter().any(|id| id == INTACT);
        assert!(
            is_reported || !trouble.is_down,
            "no e-mail was sent: {about}"
        );
        let is_mailed = emails
            .iter()
            .any(|email| email.id.starts_with(INTACT_WEBHOOK));
        assert_eq!(is_mailed, !trouble.is_down, "the message after it: {about}");
    }
    emails.iter().for_each(|email| check(email, &about));
    if failed.is_empty() {
        Outcome::Accepted
    } else {
        Outcome::Rejected
    }
}

fn check(email: &Email, about: &str) {
    assert_eq!(email.to, OWNER, "{about}");
    for header in [&email.subject, &email.id] {
        assert!(!header.contains(['\r', '\n']), "{header:?}: {about}");
    }
    assert!(
        !email.html.contains("<postrider-probe"),
        "{}: {about}",
        email.html
    );
}
