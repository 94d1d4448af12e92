//! E-mail.

use async_trait::async_trait;
use postrider_domain::ids::{TenantId, WebhookId};

use crate::Result;

/// Who is notified when a webhook fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contact {
    /// The webhook's name.
    pub name: String,
    pub owner_email: Option<String>,
}

/// Looks up contacts. Reads no secrets.
#[async_trait]
pub trait Contacts: Send + Sync {
    /// `None` if the webhook was deleted.
    async fn contact(&self, tenant: &TenantId, webhook: WebhookId) -> Result<Option<Contact>>;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Email {
    /// Unchanged when it is sent again, so that a mailbox can recognise a duplicate.
    pub id: String,
    pub to: String,
    /// One line.
    pub subject: String,
    /// Plain text.
    pub text: String,
    /// The same as HTML.
    pub html: String,
}

/// Sends e-mail. On `Ok` a mail server has accepted the message; it may arrive twice if a response was lost. A
/// transient error is about the service, which may accept the message later; any other error is about this message
/// only.
#[async_trait]
pub trait Mail: Send + Sync {
    async fn send(&self, email: Email) -> Result<()>;
}
