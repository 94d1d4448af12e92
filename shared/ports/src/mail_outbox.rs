//! Which letters are still to be written, so that each comes at least once and hardly ever twice.

use async_trait::async_trait;
use postrider_domain::alert::Alert;
use postrider_domain::time::Timestamp;

use crate::Result;

/// A letter that is to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingEmail {
    /// Names it among all letters.
    pub id: i64,
    /// What it is about: the announcement, as CloudEvents JSON.
    pub event: String,
    /// How often nobody could be reached who takes letters.
    pub tries: u32,
    /// How often it was refused.
    pub refusals: u32,
    /// When it was announced.
    pub announced_at: Timestamp,
}

/// What became of a letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmailResult {
    /// It was sent, or will never be.
    Settled,
    /// Nobody could take it; it is due again then.
    PutOff(Timestamp),
    /// It was refused; it is due again then.
    Rejected(Timestamp),
}

/// The letters of a store that lives with whoever sends them. They are filed with the change that announces a webhook's
/// trouble, in the same transaction: once for each episode, and of warnings one an hour for a webhook.
#[async_trait]
pub trait MailOutbox: Send + Sync {
    /// Letters of all tenants that are due by then, longest due first.
    async fn emails_due(&self, by: Timestamp, limit: usize) -> Result<Vec<PendingEmail>>;

    /// Notes what became of a letter. One that is settled stays so.
    async fn record_result(&self, id: i64, handled: EmailResult) -> Result<()>;
}

/// Who writes which letter, where several may be told to write the same one.
#[async_trait]
pub trait SentLog: Send + Sync {
    /// Takes on the letter about `alert` under the name `by`. Returns whether it is to be written: not, when one about
    /// the same or a later episode was, or somebody else is writing it, whose job it then is. The same name may take on
    /// the same letter again until it is noted as sent; another one after a quarter of an hour.
    async fn claim_email(&self, alert: &Alert, by: &str, now: Timestamp) -> Result<bool>;

    /// Notes that the letter about `alert` was sent.
    async fn record_sent(&self, alert: &Alert) -> Result<()>;
}
