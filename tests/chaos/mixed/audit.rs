//! What clients, receivers and the mailbox saw, compared with what is stored.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::database::{Counters, Stored};

/// Everything that was seen. The gateway is at rest: all receivers work, and everything dead was retried.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    pub(super) acknowledged: BTreeSet<String>,
    /// How many requests of each delivery arrived.
    pub(super) posts: HashMap<String, usize>,
    pub(super) accepted: BTreeSet<String>,
    /// At how many kills each delivery was in flight.
    pub(super) held: HashMap<String, usize>,
    pub(super) overlaps: Vec<String>,
    pub(super) wrong: Vec<String>,
    /// The ids of the e-mails of each life.
    pub(super) emails: Vec<Vec<String>>,
    /// Lives in which the disk failed: the gateway may forget that it has sent an e-mail.
    pub(super) disk_failed: BTreeSet<usize>,
    pub(super) stored: Stored,
}

/// A bug on purpose: what the gateway would have left if it had it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    LosesADelivery,
    SaysDeliveredTooEarly,
    PostsTwice,
    ForgetsAnAttempt,
    CountsTwice,
    ForgetsANotification,
    NotifiesTwice,
    MailsTwice,
    ForgetsAnEmail,
    LeavesADeliveryOpen,
}

impl Bug {
    pub const ALL: [Self; 10] = [
        Self::LosesADelivery,
        Self::SaysDeliveredTooEarly,
        Self::PostsTwice,
        Self::ForgetsAnAttempt,
        Self::CountsTwice,
        Self::ForgetsANotification,
        Self::NotifiesTwice,
        Self::MailsTwice,
        Self::ForgetsAnEmail,
        Self::LeavesADeliveryOpen,
    ];
}

impl Seen {
    /// What would have been seen of a gateway with this bug.
    ///
    /// # Panics
    /// If nothing was delivered.
    #[must_use]
    pub fn with(mut self, bug: Bug) -> Self {
        let delivery = self.acknowledged.first().unwrap().clone();
        let row = self.stored.rows.get_mut(&delivery).unwrap();
        match bug {
            Bug::LosesADelivery => drop(self.stored.rows.remove(&delivery)),
            Bug::SaysDeliveredTooEarly => {
                self.accepted.remove(&delivery);
            }
            // Once more than its kills allow.
            Bug::PostsTwice => {
                let held = self.held.get(&delivery).copied().unwrap_or_default();
                self.posts.insert(delivery, row.attempts + held + 1);
            }
            Bug::ForgetsAnAttempt => row.listed -= 1,
            Bug::CountsTwice => {
                let webhook = row.webhook.clone();
                self.stored.counters.get_mut(&webhook).unwrap().attempts += 1;
            }
            Bug::ForgetsANotification => {
                let notifications = &mut self.stored.notifications;
                let is_about_it =
                    |(_, about): &(String, Option<String>)| about.as_ref() == Some(&delivery);
                let first = notifications.iter().position(is_about_it).unwrap();
                notifications.remove(first);
            }
            Bug::NotifiesTwice => {
                let again = ("delivery.delivered".to_owned(), Some(delivery));
                self.stored.notifications.push(again);
            }
            Bug::MailsTwice => {
                let life = self.emails.iter_mut().find(|life| !life.is_empty());
                let life = life.expect("an e-mail was sent");
                let again = life[0].clone();
                life.push(again);
                self.disk_failed.clear();
            }
            Bug::ForgetsAnEmail => self.stored.settled_emails += 1,
            Bug::LeavesADeliveryOpen => row.status = "failed".to_owned(),
        }
        self
    }

    /// Every promise that is broken, in words.
    #[must_use]
    pub fn audit(&self) -> Vec<String> {
        let mut broken = self.wrong.clone();
        let overlaps = self.overlaps.iter();
        broken.extend(overlaps.map(|id| format!("{id} had two requests at once")));
        if !self.stored.is_sound || self.stored.orphans > 0 {
            let orphans = self.stored.orphans;
            broken.push(format!("the database is damaged, or has {orphans} orphans"));
        }
        self.audit_deliveries(&mut broken);
        self.audit_counters(&mut broken);
        self.audit_notifications(&mut broken);
        self.audit_emails(&mut broken);
        broken
    }

    fn audit_deliveries(&self, broken: &mut Vec<String>) {
        for id in &self.acknowledged {
            if !self.stored.rows.contains_key(id) {
                broken.push(format!("{id} was acknowledged and is lost"));
            }
        }
        for (id, row) in &self.stored.rows {
            if row.status != "delivered" {
                broken.push(format!("{id} is {}", row.status));
            }
            if !self.accepted.contains(id) {
                broken.push(format!("{id} was accepted by no receiver"));
            }
            let posts = self.posts.get(id).copied().unwrap_or_default();
            let held = self.held.get(id).copied().unwrap_or_default();
            if posts > row.attempts + held {
                let attempts = row.attempts;
                broken.push(format!(
                    "{id} was sent {posts} times, with {attempts} attempts and {held} kills"
                ));
            }
            if row.listed != row.attempts {
                let (listed, attempts) = (row.listed, row.attempts);
                broken.push(format!("{id} lists {listed} of {attempts} attempts"));
            }
        }
    }

    /// Counters are written with what they count, so they are exact.
    fn audit_counters(&self, broken: &mut Vec<String>) {
        let mut expected: BTreeMap<&str, Counters> = BTreeMap::new();
        for row in self.stored.rows.values() {
            let counters = expected.entry(&row.webhook).or_default();
            counters.attempts += row.attempts;
            counters.delivered += usize::from(row.status == "delivered");
        }
        for (kind, delivery) in &self.stored.notifications {
            let row = delivery.as_ref().and_then(|id| self.stored.rows.get(id));
            if let ("delivery.dead", Some(row)) = (kind.as_str(), row) {
                expected.entry(&row.webhook).or_default().dead += 1;
            }
        }
        for (webhook, expected) in expected {
            let counted = self.stored.counters.get(webhook).copied();
            let counted = counted.unwrap_or_default();
            if counted != expected {
                broken.push(format!(
                    "{webhook} counts {counted:?} instead of {expected:?}"
                ));
            }
        }
    }

    /// Each attempt has one notification with its result, and a dead delivery was requeued once for each death.
    fn audit_notifications(&self, broken: &mut Vec<String>) {
        let mut kinds: HashMap<&str, HashMap<&str, usize>> = HashMap::new();
        for (kind, delivery) in &self.stored.notifications {
            if let Some(delivery) = delivery {
                let kinds = kinds.entry(delivery).or_default();
                *kinds.entry(kind).or_default() += 1;
            }
        }
        for (id, row) in &self.stored.rows {
            let count = |kind| {
                let kinds = kinds.get(id.as_str());
                kinds
                    .and_then(|kinds| kinds.get(kind))
                    .copied()
                    .unwrap_or_default()
            };
            let [delivered, failed, dead, requeued] = [
                "delivery.delivered",
                "delivery.failed",
                "delivery.dead",
                "delivery.requeued",
            ]
            .map(count);
            let is_right =
                delivered == 1 && delivered + failed + dead == row.attempts && requeued == dead;
            if !is_right {
                let attempts = row.attempts;
                broken.push(format!(
                    "{id} with {attempts} attempts is notified as delivered {delivered}, failed {failed}, dead {dead} \
                     and requeued {requeued} times"
                ));
            }
        }
    }

    /// An e-mail is sent again only by another process, or if the disk failed.
    fn audit_emails(&self, broken: &mut Vec<String>) {
        let mut all = BTreeSet::new();
        for (life, emails) in self.emails.iter().enumerate() {
            let distinct: BTreeSet<_> = emails.iter().collect();
            if distinct.len() < emails.len() && !self.disk_failed.contains(&life) {
                broken.push(format!("an e-mail was sent twice in life {life}"));
            }
            all.extend(distinct);
        }
        let (sent, settled) = (all.len(), self.stored.settled_emails);
        if sent != settled || self.stored.pending_emails > 0 {
            broken.push(format!(
                "{settled} e-mails are settled and {sent} were sent"
            ));
        }
    }
}
