//! Letters to people.

use async_trait::async_trait;
use postrider_domain::ids::{TenantId, WebhookId};

use crate::Result;

/// Who hears of a webhook's trouble.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contact {
    /// What people call the webhook.
    pub name: String,
    /// Its owner's address.
    pub owner_email: Option<String>,
}

/// Knows whom to write to. Reads no secrets.
#[async_trait]
pub trait Contacts: Send + Sync {
    /// Who hears of this webhook's trouble; none when it was deleted.
    async fn contact(&self, tenant: &TenantId, webhook: WebhookId) -> Result<Option<Contact>>;
}

/// One letter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Email {
    /// Names it; the same when it is sent again, so that a mailbox can tell.
    pub id: String,
    /// Who gets it.
    pub to: String,
    /// What it is about; one line.
    pub subject: String,
    /// What it says, as plain text.
    pub text: String,
    /// The same, as HTML.
    pub html: String,
}

/// Sends letters. On `Ok` somebody has taken it who will bring it; a letter may come twice, when an answer was lost. A
/// transient error is of the service, which may take it later; any other is of this letter, and others may be taken.
#[async_trait]
pub trait Mail: Send + Sync {
    /// Sends one letter.
    async fn send(&self, email: Email) -> Result<()>;
}
