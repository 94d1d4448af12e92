//! Mails what the owner of a webhook must know.

mod message;

use std::sync::Arc;

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent};
use lambda_runtime::{Error, LambdaEvent};
use postrider_domain::alert::Alert;
use postrider_gateway::mail::{Addresses, email};
use postrider_ports::clock::Clock;
use postrider_ports::mail::{Contacts, Mail};
use postrider_ports::mail_outbox::SentLog;
use tracing::{error, info, warn};

/// Handles batches of announcements.
pub struct Notifier {
    /// Knows whom to write to.
    pub contacts: Arc<dyn Contacts>,
    /// Knows what was written.
    pub sent_log: Arc<dyn SentLog>,
    /// None when the gateway has no address to write from.
    pub mail: Option<Arc<dyn Mail>>,
    /// What letters are written with.
    pub addresses: Addresses,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Handled {
    Mailed,
    MailedBefore,
    NothingToMail,
    NobodyToMail,
    WebhookGone,
}

impl Notifier {
    /// Handles a batch and names the messages that should come again: those that could not be mailed, and those that
    /// are no announcements, which the queue sets aside after a few tries.
    ///
    /// # Errors
    /// None: a failed batch would bring back the messages that were handled, too.
    pub async fn handle(&self, event: LambdaEvent<SqsEvent>) -> Result<SqsBatchResponse, Error> {
        let mut response = SqsBatchResponse::default();
        for message in event.payload.records {
            let id = message.message_id.unwrap_or_default();
            match self.notify(&id, &message.body.unwrap_or_default()).await {
                Ok(handled) => {
                    info!(
                        event = "mail.handled",
                        message_id = id,
                        ?handled,
                        "handled a notification"
                    );
                }
                Err(reason) => {
                    error!(event = "mail.failed", message_id = id, %reason, "an e-mail could not be sent");
                    response.add_failure(id);
                }
            }
        }
        Ok(response)
    }

    async fn notify(&self, message_id: &str, body: &str) -> Result<Handled, Error> {
        let Some(alert) = Alert::read(&message::notification(body))? else {
            return Ok(Handled::NothingToMail);
        };
        let contact = self.contacts.contact(&alert.tenant, alert.webhook).await?;
        let Some(contact) = contact else {
            return Ok(Handled::WebhookGone);
        };
        let email = email(&alert, &contact, &self.addresses)?;
        let (Some(email), Some(mail)) = (email, &self.mail) else {
            warn!(
                event = "mail.no_recipient",
                about = alert.id,
                "no e-mail: there is no recipient or no sender address"
            );
            return Ok(Handled::NobodyToMail);
        };
        let now = self.clock.now();
        if !self.sent_log.claim_email(&alert, message_id, now).await? {
            return Ok(Handled::MailedBefore);
        }
        mail.send(email).await?;
        // The letter is out: a message that came back now would bring a second one.
        if let Err(reason) = self.sent_log.record_sent(&alert).await {
            warn!(event = "mail.not_recorded", about = alert.id, %reason, "an e-mail was sent but could not be recorded");
        }
        Ok(Handled::Mailed)
    }
}
