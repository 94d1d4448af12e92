//! Mails what the owner of a webhook must know.

mod alert;
mod letter;

use std::sync::Arc;

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent};
use lambda_runtime::{Error, LambdaEvent};
use postrider_ports::mail::{Contacts, Mail};
use tracing::{error, info, warn};

use crate::alert::Alert;

/// Handles batches of announcements.
pub struct Notifier {
    contacts: Arc<dyn Contacts>,
    /// None when the gateway has no address to write from.
    mail: Option<Arc<dyn Mail>>,
    addresses: Addresses,
}

/// What letters are written with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Addresses {
    /// Who gets the letter of a webhook without an owner's address.
    pub alert_address: Option<String>,
    /// The address of the API, for links.
    pub public_url: Option<String>,
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Handled {
    Mailed,
    NothingToMail,
    NobodyToMail,
    WebhookGone,
}

impl Notifier {
    /// A notifier that knows whom to write to, and by whom to send.
    #[must_use]
    pub fn new(
        contacts: Arc<dyn Contacts>,
        mail: Option<Arc<dyn Mail>>,
        addresses: Addresses,
    ) -> Self {
        Self {
            contacts,
            mail,
            addresses,
        }
    }

    /// Handles a batch and names the messages that should come again: those that could not be mailed, and those that
    /// are no announcements, which the queue sets aside after a few tries.
    ///
    /// # Errors
    /// None: a failed batch would bring back the messages that were handled, too.
    pub async fn handle(&self, event: LambdaEvent<SqsEvent>) -> Result<SqsBatchResponse, Error> {
        let mut response = SqsBatchResponse::default();
        for message in event.payload.records {
            let id = message.message_id.unwrap_or_default();
            match self.notify(&message.body.unwrap_or_default()).await {
                Ok(handled) => {
                    info!(message_id = id, ?handled, "notice.handled");
                }
                Err(reason) => {
                    error!(message_id = id, %reason, "notice.failed");
                    response.add_failure(id);
                }
            }
        }
        Ok(response)
    }

    async fn notify(&self, body: &str) -> Result<Handled, Error> {
        let Some(alert) = Alert::read(body)? else {
            return Ok(Handled::NothingToMail);
        };
        let contact = self.contacts.contact(&alert.tenant, alert.webhook).await?;
        let Some(contact) = contact else {
            return Ok(Handled::WebhookGone);
        };
        let owner = contact.owner_email.as_ref();
        let to = owner.or(self.addresses.alert_address.as_ref());
        let (Some(to), Some(mail)) = (to, &self.mail) else {
            let webhook_id = alert.webhook.to_string();
            warn!(webhook_id, "notice.nobody_told");
            return Ok(Handled::NobodyToMail);
        };
        let public_url = self.addresses.public_url.as_deref();
        mail.send(letter::failed(&alert, &contact, to, public_url)?)
            .await?;
        Ok(Handled::Mailed)
    }
}
