//! Pending e-mail: each is sent at least once, and rarely twice.

use async_trait::async_trait;
use postrider_domain::alert::Alert;
use postrider_domain::time::{Millis, Timestamp};

use crate::Result;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingEmail {
    pub id: i64,
    /// The notification that it is about, as CloudEvents JSON.
    pub event: String,
    /// How often the mail server could not be reached.
    pub tries: u32,
    /// How often the mail server rejected it.
    pub rejections: u32,
    pub notified_at: Timestamp,
}

/// No e-mail is put off for longer than this.
pub const LONGEST_PUT_OFF: Millis = Millis::from_seconds(2 * 3600);

/// The result of sending an e-mail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmailResult {
    /// It was sent, or never will be.
    Settled,
    /// The mail server could not be reached; try again at this time.
    PutOff(Timestamp),
    /// The mail server rejected it; try again at this time.
    Rejected(Timestamp),
}

/// Pending e-mail of the embedded gateway, added in the transaction that sends the notification about a failing webhook:
/// one per episode, and at most one warning per hour and webhook.
#[async_trait]
pub trait MailOutbox: Send + Sync {
    /// Pending e-mail of all tenants that is due by then, the most overdue first. An e-mail that is put off further than
    /// [`LONGEST_PUT_OFF`] was written by a clock that ran ahead, and is due.
    async fn emails_due(&self, by: Timestamp, limit: usize) -> Result<Vec<PendingEmail>>;

    /// Records the result. A settled e-mail stays settled.
    async fn record_result(&self, id: i64, handled: EmailResult) -> Result<()>;
}

/// Coordinates several notifiers that receive the same notification.
#[async_trait]
pub trait SentLog: Send + Sync {
    /// Claims the e-mail about `alert` for the caller `by`. Returns whether to send it: not if one about the same or a later
    /// episode was sent, or if another caller holds the claim. The same caller may claim it again until it is recorded as
    /// sent; another caller only after 15 minutes.
    async fn claim_email(&self, alert: &Alert, by: &str, now: Timestamp) -> Result<bool>;

    async fn record_sent(&self, alert: &Alert) -> Result<()>;
}
