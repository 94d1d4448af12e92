//! E-mails about failing webhooks: pending in the outbox of an embedded store, or claimed in the log of those that were sent.

use std::collections::BTreeMap;

use postrider_domain::alert::{Alert, AlertCause};
use postrider_domain::ids::WebhookId;
use postrider_domain::notification::Notification;
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::mail_outbox::{EmailResult, LONGEST_PUT_OFF, PendingEmail};
use proptest::prelude::*;

use super::Model;
use crate::builders;
use crate::store_suite::Fixture;

/// Far more than are due.
const PAGE: usize = 10_000;
/// A claim in the log lasts this long.
const CLAIMED_FOR: Millis = Millis::from_seconds(900);
/// When a mail server is asked again. Nothing is put off for longer than two hours, except by a clock that runs ahead.
const PUT_OFF_SECONDS: [u64; 3] = [60, 7_200, 10_000];
const CALLERS: [&str; 2] = ["message-1", "message-2"];

#[derive(Clone, Debug)]
pub(super) enum EmailCommand {
    /// Records the result of an e-mail that is due.
    Record {
        email: usize,
        result: Sending,
    },
    /// Records that an e-mail is put off that was settled before.
    PutOffSettled {
        email: usize,
    },
    Claim {
        by: usize,
        about: About,
    },
    /// The last one that was claimed is claimed again.
    ClaimAgain {
        by: usize,
        is_warning: bool,
    },
    /// The last one that was claimed was sent.
    RecordSent {
        is_warning: bool,
    },
    /// One was sent that may have lost its claim.
    RecordOther {
        about: About,
    },
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Sending {
    Settled,
    PutOff { seconds: u64 },
    Rejected { seconds: u64 },
}

/// An episode of one webhook, as one of two notifications reports it.
#[derive(Clone, Copy, Debug)]
pub(super) struct About {
    is_warning: bool,
    episode: u32,
    notification: u8,
}

pub(super) fn command() -> impl Strategy<Value = EmailCommand> {
    let number = any::<usize>;
    let seconds = || prop::sample::select(&PUT_OFF_SECONDS[..]);
    let result = prop_oneof![
        2 => Just(Sending::Settled),
        2 => seconds().prop_map(|seconds| Sending::PutOff { seconds }),
        1 => seconds().prop_map(|seconds| Sending::Rejected { seconds }),
    ];
    let about = || {
        let notification = prop_oneof![3 => Just(0), 1 => Just(1)];
        let parts = (any::<bool>(), 0..2_u32, notification);
        parts.prop_map(|(is_warning, episode, notification)| About {
            is_warning,
            episode,
            notification,
        })
    };
    prop_oneof![
        5 => (number(), result).prop_map(|(email, result)| EmailCommand::Record { email, result }),
        2 => number().prop_map(|email| EmailCommand::PutOffSettled { email }),
        4 => (0..CALLERS.len(), about()).prop_map(|(by, about)| EmailCommand::Claim { by, about }),
        3 => (0..CALLERS.len(), any::<bool>())
            .prop_map(|(by, is_warning)| EmailCommand::ClaimAgain { by, is_warning }),
        3 => any::<bool>().prop_map(|is_warning| EmailCommand::RecordSent { is_warning }),
        1 => about().prop_map(|about| EmailCommand::RecordOther { about }),
    ]
}

#[derive(Default)]
pub(super) struct Emails {
    outbox: Vec<Filed>,
    /// The numbers of e-mails that were settled.
    settled: Vec<i64>,
    /// Of each cause, the last one that was claimed.
    log: BTreeMap<&'static str, Claimed>,
}

#[derive(Clone)]
struct Filed {
    alert: Alert,
    tries: u32,
    rejections: u32,
    /// `None` once it is settled.
    due_at: Option<Timestamp>,
}

struct Claimed {
    alert: Alert,
    by: usize,
    until: Timestamp,
    is_sent: bool,
}

impl Emails {
    /// Adds the e-mail about a notification: one per episode, and warnings at least an hour apart.
    pub(super) fn file(&mut self, notification: Option<&Notification>) {
        let event = notification.map(Notification::to_cloud_event);
        let Some(alert) = event.and_then(|event| Alert::of(event).unwrap()) else {
            return;
        };
        let silent = alert.silenced_after().saturating_add(1)..=alert.latest_episode(alert.at);
        let silences = |filed: &Filed| {
            let other = &filed.alert;
            let is_same =
                (other.webhook, other.cause.as_str()) == (alert.webhook, alert.cause.as_str());
            is_same && silent.contains(&other.episode())
        };
        if !self.outbox.iter().any(silences) {
            self.outbox.push(Filed {
                tries: 0,
                rejections: 0,
                due_at: Some(alert.at),
                alert,
            });
        }
    }

    fn due(&self, by: Timestamp) -> Vec<&Filed> {
        let is_due = |filed: &&Filed| {
            filed
                .due_at
                .is_some_and(|at| at.is_due(by, LONGEST_PUT_OFF))
        };
        let mut due: Vec<_> = self.outbox.iter().filter(is_due).collect();
        due.sort_by(|one, other| one.alert.id.cmp(&other.alert.id));
        due
    }
}

impl Model {
    pub(super) async fn do_with_emails(
        &mut self,
        command: &EmailCommand,
        fixture: &impl Fixture,
    ) -> Result<(), TestCaseError> {
        match *command {
            EmailCommand::Record { email, result } => self.record_result(email, result).await,
            EmailCommand::PutOffSettled { email } => self.put_off_settled(email).await,
            EmailCommand::Claim { by, about } => {
                let alert = self.alert(about);
                self.claim_email(by, alert, fixture).await
            }
            EmailCommand::ClaimAgain { by, is_warning } => match self.last_claimed(is_warning) {
                Some(alert) => self.claim_email(by, alert, fixture).await,
                None => Ok(()),
            },
            EmailCommand::RecordSent { is_warning } => match self.last_claimed(is_warning) {
                Some(alert) => self.record_sent(alert, fixture).await,
                None => Ok(()),
            },
            EmailCommand::RecordOther { about } => {
                let alert = self.alert(about);
                self.record_sent(alert, fixture).await
            }
        }
    }

    /// The e-mails of the tenant that are due.
    async fn emails_due(&self) -> Vec<(PendingEmail, Alert)> {
        let Some(store) = &self.handle().embedded else {
            return Vec::new();
        };
        let due = store.emails_due(self.now, PAGE).await.unwrap();
        let read = |email: PendingEmail| {
            let alert = Alert::read(&email.event).unwrap().unwrap();
            (email, alert)
        };
        let all = due.into_iter().map(read);
        all.filter(|(_, alert)| alert.tenant == self.ours.tenant)
            .collect()
    }

    async fn record_result(&mut self, email: usize, result: Sending) -> Result<(), TestCaseError> {
        let (now, due) = (self.now, self.emails_due().await);
        let (Some((email, alert)), Some(store)) =
            (super::nth(&due, email), self.handle().embedded.clone())
        else {
            return Ok(());
        };
        let later = |seconds| now.plus(Millis::from_seconds(seconds));
        let result = match result {
            Sending::Settled => EmailResult::Settled,
            Sending::PutOff { seconds } => EmailResult::PutOff(later(seconds)),
            Sending::Rejected { seconds } => EmailResult::Rejected(later(seconds)),
        };
        let emails = &mut self.ours.emails;
        let filed = emails
            .outbox
            .iter_mut()
            .find(|filed| filed.alert.id == alert.id);
        let Some(filed) = filed else {
            return Err(TestCaseError::fail(format!("not filed: {alert:?}")));
        };
        filed.due_at = match result {
            EmailResult::Settled => None,
            EmailResult::PutOff(at) | EmailResult::Rejected(at) => Some(at),
        };
        match result {
            EmailResult::Settled => emails.settled.push(email.id),
            EmailResult::PutOff(_) => filed.tries += 1,
            EmailResult::Rejected(_) => filed.rejections += 1,
        }
        prop_assert_eq!(store.record_result(email.id, result).await, Ok(()));
        Ok(())
    }

    async fn put_off_settled(&self, email: usize) -> Result<(), TestCaseError> {
        let settled = super::nth(&self.ours.emails.settled, email);
        if let (Some(id), Some(store)) = (settled, &self.handle().embedded) {
            let put_off = EmailResult::PutOff(self.now);
            prop_assert_eq!(store.record_result(*id, put_off).await, Ok(()));
        }
        Ok(())
    }

    fn alert(&self, about: About) -> Alert {
        let (cause, apart) = if about.is_warning {
            (AlertCause::Degraded { failures: 3 }, 1_801_000)
        } else {
            (AlertCause::Failed { retries: Some(5) }, 0)
        };
        Alert {
            id: format!(
                "{}/{}/{}",
                cause.as_str(),
                about.episode,
                about.notification
            ),
            tenant: self.ours.tenant.clone(),
            webhook: WebhookId::from_bytes(*builders::webhook_id(self.case).as_bytes()),
            cause,
            generation: about.episode,
            at: self
                .begun_at()
                .plus(Millis::new(apart * u64::from(about.episode))),
            reason: None,
            last_failure: None,
        }
    }

    fn last_claimed(&self, is_warning: bool) -> Option<Alert> {
        let log = self.ours.emails.log.values();
        let mut alerts = log.map(|claimed| &claimed.alert);
        let is_it =
            |alert: &&Alert| matches!(alert.cause, AlertCause::Degraded { .. }) == is_warning;
        alerts.find(is_it).cloned()
    }

    async fn claim_email(
        &mut self,
        by: usize,
        alert: Alert,
        fixture: &impl Fixture,
    ) -> Result<(), TestCaseError> {
        let Some(log) = fixture.sent_log() else {
            return Ok(());
        };
        let (cause, now) = (alert.cause.as_str(), self.now);
        let known = self.ours.emails.log.get(cause);
        let expected = known.is_none_or(|known| {
            let is_free = known.by == by || known.until < now;
            let is_same = known.alert.id == alert.id && !known.is_sent;
            let silent = alert.silenced_after().saturating_add(1)..=alert.latest_episode(now);
            !silent.contains(&known.alert.episode()) || (is_same && is_free)
        });
        let claimed = log.claim_email(&alert, CALLERS[by], now).await;
        prop_assert_eq!(claimed, Ok(expected));
        if expected {
            let until = now.plus(CLAIMED_FOR);
            let is_sent = false;
            let claimed = Claimed {
                alert,
                by,
                until,
                is_sent,
            };
            self.ours.emails.log.insert(cause, claimed);
        }
        Ok(())
    }

    async fn record_sent(
        &mut self,
        alert: Alert,
        fixture: &impl Fixture,
    ) -> Result<(), TestCaseError> {
        let Some(log) = fixture.sent_log() else {
            return Ok(());
        };
        let known = self.ours.emails.log.get_mut(alert.cause.as_str());
        if let Some(known) = known.filter(|known| known.alert.id == alert.id) {
            known.is_sent = true;
        }
        prop_assert_eq!(log.record_sent(&alert).await, Ok(()));
        Ok(())
    }

    pub(super) async fn compare_emails(&self) -> Result<(), TestCaseError> {
        if self.handle().embedded.is_none() {
            return Ok(());
        }
        let mut found = self.emails_due().await;
        found.sort_by(|(_, one), (_, other)| one.id.cmp(&other.id));
        let found = found.iter();
        let found = found.map(|(email, alert)| (alert, email.tries, email.rejections));
        let expected = self.ours.emails.due(self.now).into_iter();
        let expected = expected.map(|filed| (&filed.alert, filed.tries, filed.rejections));
        let (found, expected): (Vec<_>, Vec<_>) = (found.collect(), expected.collect());
        prop_assert_eq!(found, expected, "e-mails due");
        Ok(())
    }
}
