//! Rates per second, counted from notifications.

use std::collections::VecDeque;
use std::time::Duration;

use postrider_api_types::Word;
use postrider_domain::notification::NotificationKind;

/// The length of a tick.
pub(super) const TICK: Duration = Duration::from_millis(500);
/// How many ticks a rate covers: 10 s.
const TICKS: usize = 20;

/// The counts of one tick.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    delivered: u32,
    failed: u32,
}

/// The counts of the last 10 s.
#[derive(Debug, Default)]
pub(super) struct Rates {
    now: Count,
    past: VecDeque<Count>,
}

impl Rates {
    /// Counts a notification of this kind.
    pub(super) fn count(&mut self, kind: &Word<NotificationKind>) {
        if *kind == NotificationKind::DeliveryDelivered {
            self.now.delivered += 1;
        } else if *kind == NotificationKind::DeliveryFailed
            || *kind == NotificationKind::DeliveryDead
        {
            self.now.failed += 1;
        }
    }

    /// Ends a tick.
    pub(super) fn tick(&mut self) {
        self.past.push_back(std::mem::take(&mut self.now));
        if self.past.len() > TICKS {
            self.past.pop_front();
        }
    }

    /// `12.4/s delivered, 0.2/s failed`.
    pub(super) fn in_words(&self) -> String {
        let ticks = u64::try_from(self.past.len().max(1)).unwrap_or(1);
        let rate = |of: fn(&Count) -> u32| {
            let sum: u64 = self.past.iter().map(|count| u64::from(of(count))).sum();
            // In tenths; two ticks are 1 s.
            let tenths = sum * 20 / ticks;
            format!("{}.{}/s", tenths / 10, tenths % 10)
        };
        format!(
            "{} delivered, {} failed",
            rate(|count| count.delivered),
            rate(|count| count.failed)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_covers_the_last_ten_seconds() {
        let mut rates = Rates::default();
        assert_eq!(rates.in_words(), "0.0/s delivered, 0.0/s failed");
        for _ in 0..30 {
            for _ in 0..3 {
                rates.count(&NotificationKind::DeliveryDelivered.into());
            }
            rates.tick();
        }
        rates.count(&NotificationKind::DeliveryDead.into());
        rates.count(&NotificationKind::WebhookFailed.into());
        rates.tick();
        assert_eq!(rates.in_words(), "5.7/s delivered, 0.1/s failed");
        for _ in 0..TICKS {
            rates.tick();
        }
        assert_eq!(rates.in_words(), "0.0/s delivered, 0.0/s failed");
    }
}
