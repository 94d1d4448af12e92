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
