//! After a fault of the gateway's own, new attempts wait a second: sooner they would most likely fail in the same way.

use std::collections::HashMap;

use parking_lot::Mutex;
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::sender::Extent;

use super::slots::Key;

const PAUSE: Millis = Millis::from_seconds(1);

/// The pauses that were begun. Only their beginnings are known, so that a clock that jumps ahead for a moment cannot
/// make one longer.
#[derive(Default)]
pub(super) struct Breather(Mutex<Begun>);

#[derive(Default)]
struct Begun {
    of_all: Option<Timestamp>,
    of_webhooks: HashMap<Key, Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pause {
    New,
    /// An attempt that was under way had the same fault.
    Known,
}

impl Breather {
    pub(super) fn begin(&self, webhook: Key, extent: Extent, now: Timestamp) -> Pause {
        let mut begun = self.0.lock();
        let before = match extent {
            Extent::AllReceivers => begun.of_all.replace(now),
            Extent::ThisReceiver => {
                begun.of_webhooks.retain(|_, at| ends(*at, now).is_some());
                begun.of_webhooks.insert(webhook, now)
            }
        };
        match before.and_then(|at| ends(at, now)) {
            Some(_) => Pause::Known,
            None => Pause::New,
        }
    }

    /// When the pause of this webhook ends; `None` if it may be attempted now.
    pub(super) fn ends_at(&self, webhook: &Key, now: Timestamp) -> Option<Timestamp> {
        let begun = self.0.lock();
        let of_webhook = begun.of_webhooks.get(webhook).copied();
        let beginnings = [begun.of_all, of_webhook].into_iter().flatten();
        beginnings.filter_map(|at| ends(at, now)).max()
    }
}

fn ends(begun_at: Timestamp, now: Timestamp) -> Option<Timestamp> {
    let end = begun_at.plus(PAUSE);
    (begun_at <= now && now < end).then_some(end)
}

#[cfg(test)]
mod tests {
    use postrider_domain::ids::TenantId;
    use postrider_testkit::builders::{NOW, after, webhook_id};

    use super::*;

    fn key(n: u32) -> Key {
        (TenantId::default(), webhook_id(n))
    }

    #[test]
    fn a_fault_of_the_machine_pauses_every_webhook_for_a_second() {
        let breather = Breather::default();
        assert_eq!(breather.ends_at(&key(1), NOW), None);
        let begun = breather.begin(key(1), Extent::AllReceivers, NOW);
        assert_eq!(begun, Pause::New);
        for n in [1, 2] {
            assert_eq!(breather.ends_at(&key(n), NOW), Some(after(1)));
            assert_eq!(breather.ends_at(&key(n), after(1)), None);
        }
    }

    #[test]
    fn a_lack_of_ports_pauses_one_webhook_alone() {
        let breather = Breather::default();
        breather.begin(key(1), Extent::ThisReceiver, NOW);
        assert_eq!(breather.ends_at(&key(1), NOW), Some(after(1)));
        assert_eq!(breather.ends_at(&key(2), NOW), None);
    }

    #[test]
    fn further_faults_prolong_a_pause_and_are_not_new() {
        let breather = Breather::default();
        let half = NOW.plus(Millis::new(500));
        breather.begin(key(1), Extent::AllReceivers, NOW);
        let again = breather.begin(key(2), Extent::AllReceivers, half);
        assert_eq!(again, Pause::Known);
        assert_eq!(breather.ends_at(&key(1), after(1)), Some(half.plus(PAUSE)));
        let later = breather.begin(key(1), Extent::AllReceivers, after(9));
        assert_eq!(later, Pause::New);
    }

    #[test]
    fn a_pause_that_was_begun_in_the_future_does_not_hold() {
        let breather = Breather::default();
        breather.begin(key(1), Extent::AllReceivers, after(86_400));
        assert_eq!(breather.ends_at(&key(1), NOW), None);
    }
}
