//! The deadline of a function.

use postrider_domain::time::{Millis, Timestamp};

/// The time a function gets if its deadline is unknown.
const UNKNOWN: Millis = Millis::from_seconds(60);

/// A deadline in the past counts as unknown: `cargo lambda watch` sets one in 1970.
#[must_use]
pub fn known(deadline: Timestamp, now: Timestamp) -> Timestamp {
    if deadline < now {
        now.plus(UNKNOWN)
    } else {
        deadline
    }
}
