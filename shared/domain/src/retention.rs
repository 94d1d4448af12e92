use crate::delivery::{Delivery, Status};
use crate::time::{Millis, Timestamp};

/// How long rows are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Delivered rows, and events without a matching webhook.
    pub delivered: Millis,
    /// Dead rows, and rows still open.
    pub dead: Millis,
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            delivered: Millis::from_seconds(30 * 86_400),
            dead: Millis::from_seconds(90 * 86_400),
        }
    }
}

impl Retention {
    #[must_use]
    pub fn expires_at(&self, row: &Delivery) -> Timestamp {
        let touched_at = row
            .last_attempted_at
            .unwrap_or(row.created_at)
            .max(row.created_at);
        match row.status {
            Status::Delivered => touched_at.plus(self.delivered),
            Status::Dead => touched_at.plus(self.dead),
            Status::Pending | Status::Failed => touched_at
                .max(row.next_retry_at.unwrap_or(touched_at))
                .plus(self.dead),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery::tests::{NOW, row};

    #[test]
    fn a_row_expires_after_its_last_attempt_and_an_open_one_after_its_next() {
        let days = |n: u64| Millis::from_seconds(n * 86_400);
        let (attempted, next) = (NOW.plus(days(1)), NOW.plus(days(2)));
        for (status, untouched, touched) in [
            (
                Status::Delivered,
                NOW.plus(days(30)),
                attempted.plus(days(30)),
            ),
            (Status::Dead, NOW.plus(days(90)), attempted.plus(days(90))),
            (Status::Pending, NOW.plus(days(90)), next.plus(days(90))),
            (Status::Failed, NOW.plus(days(90)), next.plus(days(90))),
        ] {
            let mut row = row(status);
            assert_eq!(Retention::default().expires_at(&row), untouched, "{status}");
            row.last_attempted_at = Some(attempted);
            row.next_retry_at = row.status.is_open().then_some(next);
            assert_eq!(Retention::default().expires_at(&row), touched, "{status}");
        }
    }

    #[test]
    fn a_clock_that_was_set_back_does_not_shorten_the_retention() {
        let mut row = row(Status::Delivered);
        row.last_attempted_at = Some(NOW.minus(Millis::new(1)));
        let kept = Retention::default().delivered;
        assert_eq!(Retention::default().expires_at(&row), NOW.plus(kept));
    }
}
