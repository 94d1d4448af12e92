//! Sends e-mail to the owners of failing webhooks.

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

/// Handles batches of notifications.
pub struct Notifier {
    pub contacts: Arc<dyn Contacts>,
    pub sent_log: Arc<dyn SentLog>,
    /// `None` if the gateway has no address to send from.
    pub mail: Option<Arc<dyn Mail>>,
    pub addresses: Addresses,
    pub clock: Arc<dyn Clock>,
}

/// The result for a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Handled {
    Mailed,
    MailedBefore,
    NothingToMail,
    NoRecipient,
    WebhookGone,
}

impl Notifier {
    /// Handles a batch and reports the messages that should be delivered again: those whose e-mail could not be sent,
    /// and those that are not notifications, which the queue moves to its dead-letter queue after a few tries.
    ///
    /// # Errors
    /// None: a failed batch would also bring back the messages that were handled.
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
            return Ok(Handled::NoRecipient);
        };
        let now = self.clock.now();
        if !self.sent_log.claim_email(&alert, message_id, now).await? {
            return Ok(Handled::MailedBefore);
        }
        mail.send(email).await?;
        // The e-mail has been sent: a message delivered again would cause a second one.
        if let Err(reason) = self.sent_log.record_sent(&alert).await {
            warn!(event = "mail.not_recorded", about = alert.id, %reason, "an e-mail was sent but could not be recorded");
        }
        Ok(Handled::Mailed)
    }
}
