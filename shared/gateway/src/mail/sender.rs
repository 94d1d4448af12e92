//! Brings the letters of the embedded gateway. A server that is down delays letters and nothing else: they stay in the
//! bag, over restarts, too.

use std::sync::Arc;

use postrider_domain::alert::Alert;
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::Error;
use postrider_ports::clock::Clock;
use postrider_ports::mail::{Contacts, Email, Mail};
use postrider_ports::mail_outbox::{EmailResult, MailOutbox, PendingEmail};
use tracing::{error, info, warn};

use super::{Addresses, email};

/// How often the bag is looked into.
const LOOK_EVERY: Millis = Millis::from_seconds(5);
/// How many letters are taken out of it at once.
const ROUND: usize = 100;
/// How long a letter, and the postman, wait at the most for a server that is down.
const LONGEST_WAIT: Millis = Millis::from_seconds(300);
/// How often one that is refused is tried: about an hour and a half.
const REFUSALS: u32 = 5;
/// After this time a letter is of no use any more.
const TOO_OLD: Millis = Millis::from_seconds(3 * 86_400);

/// Brings letters.
pub struct MailSender {
    bag: Arc<dyn MailOutbox>,
    contacts: Arc<dyn Contacts>,
    mail: Arc<dyn Mail>,
    clock: Arc<dyn Clock>,
    addresses: Addresses,
}

/// What one look into the bag came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MailRound {
    /// All that was due was handled.
    Done,
    /// There may be more.
    More,
    /// Nobody takes letters now, or the bag cannot be reached.
    Jammed,
}

/// What became of a letter, for the log.
enum Fate {
    Sent,
    NobodyToTell,
    WebhookGone,
    TooOld,
    Rejected(Error),
    NotNow(Error),
    Unreadable(String),
}

impl MailSender {
    /// A postman who takes letters from this bag to this service.
    #[must_use]
    pub fn new(
        bag: Arc<dyn MailOutbox>,
        contacts: Arc<dyn Contacts>,
        mail: Arc<dyn Mail>,
        clock: Arc<dyn Clock>,
        addresses: Addresses,
    ) -> Self {
        Self {
            bag,
            contacts,
            mail,
            clock,
            addresses,
        }
    }

    /// Brings letters until it is dropped. At the start everything that is still to be sent is tried at once: what kept
    /// it from being sent may be why somebody started us again.
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

    /// Takes out what is due by then, once. When nobody takes a letter, the others are not tried in vain.
    pub async fn turn(&self, by: Timestamp) -> MailRound {
        let due = match self.bag.emails_due(by, ROUND).await {
            Ok(due) => due,
            Err(reason) => {
                warn!(event = "mail.outbox_failed", %reason, "the mail outbox could not be read or updated");
                return MailRound::Jammed;
            }
        };
        let is_last = due.len() < ROUND;
        for one in due {
            let (about, fate) = match Alert::read(&one.event) {
                Ok(Some(alert)) => (alert.id.clone(), self.bring(&one, &alert).await),
                Ok(None) => (one.id.to_string(), Fate::Unreadable("no trouble".into())),
                Err(reason) => (one.id.to_string(), Fate::Unreadable(reason.to_string())),
            };
            let handled = fate.handled(&one, self.clock.now());
            fate.log(&about, &one, handled);
            if let Err(reason) = self.bag.record_result(one.id, handled).await {
                warn!(event = "mail.outbox_failed", %reason, "the mail outbox could not be read or updated");
                return MailRound::Jammed;
            }
            if matches!(fate, Fate::NotNow(_)) {
                return MailRound::Jammed;
            }
        }
        if is_last {
            MailRound::Done
        } else {
            MailRound::More
        }
    }

    async fn bring(&self, due: &PendingEmail, alert: &Alert) -> Fate {
        if due.announced_at.plus(TOO_OLD) < self.clock.now() {
            return Fate::TooOld;
        }
        let contact = match self.contacts.contact(&alert.tenant, alert.webhook).await {
            Ok(Some(contact)) => contact,
            Ok(None) => return Fate::WebhookGone,
            Err(error) => return Fate::NotNow(error),
        };
        match email(alert, &contact, &self.addresses) {
            Ok(Some(email)) => self.send(email).await,
            Ok(None) => Fate::NobodyToTell,
            Err(error) => Fate::Unreadable(error.to_string()),
        }
    }

    async fn send(&self, email: Email) -> Fate {
        match self.mail.send(email).await {
            Ok(()) => Fate::Sent,
            Err(error) if error.is_transient() => Fate::NotNow(error),
            Err(error) => Fate::Rejected(error),
        }
    }
}

impl Fate {
    fn handled(&self, email: &PendingEmail, now: Timestamp) -> EmailResult {
        match self {
            Self::NotNow(_) => EmailResult::PutOff(now.plus(wait(email.tries))),
            Self::Rejected(_) if email.refusals + 1 < REFUSALS => {
                EmailResult::Rejected(now.plus(wait_after_refusal(email.refusals)))
            }
            Self::Rejected(_)
            | Self::Sent
            | Self::NobodyToTell
            | Self::WebhookGone
            | Self::TooOld
            | Self::Unreadable(_) => EmailResult::Settled,
        }
    }

    /// No address and no word of the letter: who is told what is nobody else's business.
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
            Self::NobodyToTell => {
                warn!(
                    event = "mail.no_recipient",
                    about, "no e-mail: there is no recipient or no sender address"
                );
            }
            Self::NotNow(reason) => {
                warn!(event = "mail.deferred", about, tries = due.tries + 1, %reason, "the mail server did not take the e-mail yet");
            }
            Self::Rejected(reason) if handled == EmailResult::Settled => {
                error!(event = "mail.given_up", about, %reason, "the e-mail will not be sent");
            }
            Self::Rejected(reason) => {
                warn!(event = "mail.rejected", about, refusals = due.refusals + 1, %reason, "the mail server rejected the e-mail");
            }
            Self::TooOld => {
                error!(
                    event = "mail.given_up",
                    about,
                    reason = "it is three days old",
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

/// 1, 4, 16, 64 minutes: a refusal is seldom taken back, and sometimes somebody mends what led to it.
fn wait_after_refusal(before: u32) -> Millis {
    Millis::from_seconds(60 * 4_u64.saturating_pow(before.min(8)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_and_are_bounded() {
        let seconds = |before| wait(before).get() / 1000;
        assert_eq!([0, 1, 2, 8].map(seconds), [1, 2, 4, 256]);
        assert_eq!([9, 1000].map(seconds), [300, 300]);
        let refused: u64 = (0..REFUSALS - 1)
            .map(|before| wait_after_refusal(before).get() / 60_000)
            .sum();
        assert_eq!(refused, 85);
    }
}
