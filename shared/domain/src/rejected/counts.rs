//! How many refused requests of a source there were, and where the next one goes.

use serde::{Deserialize, Serialize};

use super::PER_MINUTE;
use crate::ids::RejectedId;
use crate::time::Timestamp;

impl RejectedId {
    /// The id of the request that was kept at this instant in this place.
    #[must_use]
    pub fn of(at: Timestamp, place: u64) -> Self {
        let mut bytes = [0; 16];
        let (left, right) = bytes.split_at_mut(8);
        left.copy_from_slice(&at.as_millis().to_be_bytes());
        right.copy_from_slice(&place.to_be_bytes());
        Self::from_bytes(bytes)
    }

    /// The place in which it was kept: grows by one with each, and one of [`RING`] places further takes its room.
    #[must_use]
    pub fn place(self) -> u64 {
        let [.., a, b, c, d, e, f, g, h] = *self.as_bytes();
        u64::from_be_bytes([a, b, c, d, e, f, g, h])
    }
}

/// How many refused requests of a source there were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RejectionCounts {
    /// How many were kept; also the place of the next.
    pub kept: u64,
    /// How many more were only counted.
    pub counted: u64,
    /// The minute in which the last one was kept, since the epoch.
    pub minute: i64,
    /// How many were kept in it.
    pub in_minute: u32,
}

impl RejectionCounts {
    /// The tally with one more that came in now, and its place if there is room for it.
    #[must_use]
    pub fn with_one_more(self, now: Timestamp) -> (Self, Option<u64>) {
        let minute = now.as_seconds().div_euclid(60);
        // A clock that was set back, or another machine's, gets no second allowance.
        let in_minute = if minute > self.minute {
            0
        } else {
            self.in_minute
        };
        if in_minute >= PER_MINUTE {
            let counted = self.counted.saturating_add(1);
            return (Self { counted, ..self }, None);
        }
        let next = Self {
            kept: self.kept.saturating_add(1),
            counted: self.counted,
            minute: self.minute.max(minute),
            in_minute: in_minute.saturating_add(1),
        };
        (next, Some(self.kept))
    }
}
