//! When to look at which webhook next. In memory: stopped webhooks and those without open rows have no entry, so a cycle
//! costs what is due, not what exists.

use std::collections::{BTreeSet, HashMap};

use postrider_domain::time::Timestamp;

use super::slots::Key;

#[derive(Debug, Default)]
pub(super) struct Agenda {
    by_time: BTreeSet<(Timestamp, Key)>,
    time_of: HashMap<Key, Timestamp>,
}

impl Agenda {
    /// Looks at the webhook at this time, or earlier if that was planned before.
    pub(super) fn note(&mut self, key: Key, at: Timestamp) {
        if let Some(planned) = self.time_of.get_mut(&key) {
            if *planned <= at {
                return;
            }
            self.by_time.remove(&(*planned, key.clone()));
            *planned = at;
        } else {
            self.time_of.insert(key.clone(), at);
        }
        self.by_time.insert((at, key));
    }

    /// Removes and returns the webhooks whose time has come, the earliest first.
    pub(super) fn take_due(&mut self, now: Timestamp) -> Vec<Key> {
        let mut due = Vec::new();
        while let Some((at, _)) = self.by_time.first()
            && *at <= now
            && let Some((_, key)) = self.by_time.pop_first()
        {
            self.time_of.remove(&key);
            due.push(key);
        }
        due
    }

    pub(super) fn next_at(&self) -> Option<Timestamp> {
        self.by_time.first().map(|(at, _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use postrider_domain::ids::{TenantId, WebhookId};

    fn key(n: u8) -> Key {
        (TenantId::default(), WebhookId::from_bytes([n; 16]))
    }

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    #[test]
    fn a_webhook_has_one_entry_and_the_earlier_time_wins() {
        let mut agenda = Agenda::default();
        agenda.note(key(1), at(30));
        agenda.note(key(1), at(10));
        agenda.note(key(1), at(20));
        assert_eq!(agenda.next_at(), Some(at(10)));
        assert_eq!(agenda.take_due(at(100)), [key(1)]);
        assert_eq!((agenda.next_at(), agenda.time_of.len()), (None, 0));
    }

    #[test]
    fn only_what_is_due_is_taken_and_the_earliest_comes_first() {
        let mut agenda = Agenda::default();
        for (n, ms) in [(1, 30), (2, 10), (3, 31), (4, 20)] {
            agenda.note(key(n), at(ms));
        }
        assert_eq!(agenda.take_due(at(30)), [key(2), key(4), key(1)]);
        assert_eq!(agenda.next_at(), Some(at(31)));
        agenda.note(key(2), at(5));
        assert_eq!(agenda.next_at(), Some(at(5)), "a taken entry can come back");
    }
}
