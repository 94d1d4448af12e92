//! Sends the e-mails of the embedded gateway. If the mail server is down, only e-mails are delayed: they stay in the
//! outbox, even across restarts.

use std::sync::Arc;

use postrider_domain::alert::Alert;
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::Error;
use postrider_ports::clock::Clock;
use postrider_ports::mail::{Contacts, Email, Mail};
use postrider_ports::mail_outbox::{EmailResult, MailOutbox, PendingEmail};
use tracing::{error, info, warn};

use super::{Addresses, email};

/// How often the outbox is read.
const LOOK_EVERY: Millis = Millis::from_seconds(5);
/// How many e-mails one read returns.
const ROUND: usize = 100;
/// The longest wait, of an e-mail or of the sender, for a server that is down.
const LONGEST_WAIT: Millis = Millis::from_seconds(300);
/// How often a rejected e-mail is tried, over about an hour and a half.
const MAX_REJECTIONS: u32 = 5;
/// An e-mail older than this is no longer useful.
const TOO_OLD: Millis = Millis::from_seconds(3 * 86_400);

pub struct MailSender {
    outbox: Arc<dyn MailOutbox>,
    contacts: Arc<dyn Contacts>,
    mail: Arc<dyn Mail>,
    clock: Arc<dyn Clock>,
    addresses: Addresses,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MailRound {
    /// All due e-mails were handled.
    Done,
    /// There may be more.
    More,
    /// The mail server does not accept e-mails now, or the outbox cannot be read or updated.
    Jammed,
}

/// The result of sending an e-mail, for the log.
enum SendResult {
    Sent,
    NoRecipient,
    WebhookGone,
    TooOld,
    Rejected(Error),
    Deferred(Error),
    Unreadable(String),
}

impl MailSender {
    #[must_use]
    pub fn new(
        outbox: Arc<dyn MailOutbox>,
        contacts: Arc<dyn Contacts>,
        mail: Arc<dyn Mail>,
        clock: Arc<dyn Clock>,
        addresses: Addresses,
    ) -> Self {
        Self {
            outbox,
            contacts,
            mail,
            clock,
            addresses,
        }
    }

    /// Sends e-mails until it is dropped. At the start every pending e-mail is tried immediately: the restart may have
    /// fixed what blocked them.
    pub async fn run(&self) {
        let mut by = Timestamp::from_millis(i64::MAX);
        let mut jams = 0;
        loop {
            let turn = self.turn(by).await;
            let pause = match turn {
                MailRound::Done => LOOK_EVERY,
                MailRound::More => Millis::ZERO,
                MailRound::Jammed => wait(jams),
            };
            jams = if turn == MailRound::Jammed {
                jams + 1
            } else {
                0
            };
            let next = self.clock.now().plus(pause);
            self.clock.sleep_until(next).await;
            by = self.clock.now();
        }
    }

    /// Handles the e-mails due by then, once. If the server does not accept one, the others are not tried.
    pub async fn turn(&self, by: Timestamp) -> MailRound {
        let due = match self.outbox.emails_due(by, ROUND).await {
            Ok(due) => due,
            Err(reason) => {
                warn!(event = "mail.outbox_failed", %reason, "the mail outbox could not be read or updated");
                return MailRound::Jammed;
            }
        };
        let is_last = due.len() < ROUND;
        for one in due {
            let (about, result) = match Alert::read(&one.event) {
                Ok(Some(alert)) => (alert.id.clone(), self.deliver(&one, &alert).await),
                Ok(None) => (
                    one.id.to_string(),
                    SendResult::Unreadable("not an alert".into()),
                ),
                Err(reason) => (
                    one.id.to_string(),
                    SendResult::Unreadable(reason.to_string()),
                ),
            };
            let handled = result.handled(&one, self.clock.now());
            result.log(&about, &one, handled);
            if let Err(reason) = self.outbox.record_result(one.id, handled).await {
                warn!(event = "mail.outbox_failed", %reason, "the mail outbox could not be read or updated");
                return MailRound::Jammed;
            }
            if matches!(result, SendResult::Deferred(_)) {
                return MailRound::Jammed;
            }
        }
        if is_last {
            MailRound::Done
        } else {
            MailRound::More
        }
    }

    async fn deliver(&self, due: &PendingEmail, alert: &Alert) -> SendResult {
        if due.notified_at.plus(TOO_OLD) < self.clock.now() {
            return SendResult::TooOld;
        }
        let contact = match self.contacts.contact(&alert.tenant, alert.webhook).await {
            Ok(Some(contact)) => contact,
            Ok(None) => return SendResult::WebhookGone,
            Err(error) => return SendResult::Deferred(error),
        };
        match email(alert, &contact, &self.addresses) {
            Ok(Some(email)) => self.send(email).await,
            Ok(None) => SendResult::NoRecipient,
            Err(error) => SendResult::Unreadable(error.to_string()),
        }
    }

    async fn send(&self, email: Email) -> SendResult {
        match self.mail.send(email).await {
            Ok(()) => SendResult::Sent,
            Err(error) if error.is_transient() => SendResult::Deferred(error),
            Err(error) => SendResult::Rejected(error),
        }
    }
}

impl SendResult {
    fn handled(&self, email: &PendingEmail, now: Timestamp) -> EmailResult {
        match self {
            Self::Deferred(_) => EmailResult::PutOff(now.plus(wait(email.tries))),
            Self::Rejected(_) if email.rejections + 1 < MAX_REJECTIONS => {
                EmailResult::Rejected(now.plus(wait_after_rejection(email.rejections)))
            }
            Self::Rejected(_)
            | Self::Sent
            | Self::NoRecipient
            | Self::WebhookGone
            | Self::TooOld
            | Self::Unreadable(_) => EmailResult::Settled,
        }
    }

    /// Logs neither the address nor the text: both are private.
    fn log(&self, about: &str, due: &PendingEmail, handled: EmailResult) {
        match self {
            Self::Sent => {
                info!(event = "mail.sent", about, "sent an e-mail");
            }
            Self::WebhookGone => {
                info!(
                    event = "mail.webhook_gone",
                    about, "no e-mail: the webhook was deleted"
                );
            }
            Self::NoRecipient => {
                warn!(
                    event = "mail.no_recipient",
                    about, "no e-mail: there is no recipient or no sender address"
                );
            }
            Self::Deferred(reason) => {
                warn!(event = "mail.deferred", about, tries = due.tries + 1, %reason, "the mail server has not accepted the e-mail yet");
            }
            Self::Rejected(reason) if handled == EmailResult::Settled => {
                error!(event = "mail.given_up", about, %reason, "the e-mail will not be sent");
            }
            Self::Rejected(reason) => {
                warn!(event = "mail.rejected", about, rejections = due.rejections + 1, %reason, "the mail server rejected the e-mail");
            }
            Self::TooOld => {
                error!(
                    event = "mail.given_up",
                    about,
                    reason = "it is more than three days old",
                    "the e-mail will not be sent"
                );
            }
            Self::Unreadable(reason) => {
                error!(
                    event = "mail.given_up",
                    about, reason, "the e-mail will not be sent"
                );
            }
        }
    }
}

/// 1, 2, 4, … seconds.
fn wait(before: u32) -> Millis {
    let seconds = 1_u64.checked_shl(before.min(16)).unwrap_or(u64::MAX);
    Millis::from_seconds(seconds).min(LONGEST_WAIT)
}

/// 1, 4, 16, 64 minutes: a rejection is usually permanent, but sometimes an operator fixes its cause.
fn wait_after_rejection(before: u32) -> Millis {
    Millis::from_seconds(60 * 4_u64.saturating_pow(before.min(8)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_up_to_a_limit() {
        let seconds = |before| wait(before).get() / 1000;
        assert_eq!([0, 1, 2, 8].map(seconds), [1, 2, 4, 256]);
        assert_eq!([9, 1000].map(seconds), [300, 300]);
        let minutes: u64 = (0..MAX_REJECTIONS - 1)
            .map(|before| wait_after_rejection(before).get() / 60_000)
            .sum();
        assert_eq!(minutes, 85);
    }
}
