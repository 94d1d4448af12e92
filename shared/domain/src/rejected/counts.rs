//! How many rejected requests a source had, and where the next one is stored.

use serde::{Deserialize, Serialize};

use super::PER_MINUTE;
use crate::ids::RejectedId;
use crate::time::Timestamp;

impl RejectedId {
    /// The id of the request stored at this time and position.
    #[must_use]
    pub fn of(at: Timestamp, place: u64) -> Self {
        let mut bytes = [0; 16];
        let (left, right) = bytes.split_at_mut(8);
        left.copy_from_slice(&at.as_millis().to_be_bytes());
        right.copy_from_slice(&place.to_be_bytes());
        Self::from_bytes(bytes)
    }

    /// The position at which it was stored. Positions increase by one per request, and a request replaces the one
    /// [`RING`] positions before it.
    #[must_use]
    pub fn place(self) -> u64 {
        let [.., a, b, c, d, e, f, g, h] = *self.as_bytes();
        u64::from_be_bytes([a, b, c, d, e, f, g, h])
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RejectionCounts {
    /// How many were stored; also the position of the next one.
    #[serde(rename = "kept")]
    pub stored: u64,
    /// How many more were counted but not stored.
    pub counted: u64,
    /// The minute since the epoch in which the last one was stored.
    pub minute: i64,
    /// How many were stored in that minute.
    pub in_minute: u32,
}

impl RejectionCounts {
    /// Counts one more request; returns its position if it may be stored.
    #[must_use]
    pub fn with_one_more(self, now: Timestamp) -> (Self, Option<u64>) {
        let minute = now.as_seconds().div_euclid(60);
        // A clock that is a little behind, such as another machine's, must not grant a second allowance. A minute further
        // ahead than that was noted by a clock that ran ahead, and must not use up the allowance until then.
        let is_same = self.minute == minute || self.minute == minute.saturating_add(1);
        let in_minute = if is_same { self.in_minute } else { 0 };
        if in_minute >= PER_MINUTE {
            let counted = self.counted.saturating_add(1);
            return (Self { counted, ..self }, None);
        }
        let next = Self {
            stored: self.stored.saturating_add(1),
            counted: self.counted,
            minute: if is_same { self.minute } else { minute },
            in_minute: in_minute.saturating_add(1),
        };
        (next, Some(self.stored))
    }
}
