//! Until when a function may work.

use postrider_domain::time::{Millis, Timestamp};

/// The time a function has when it was not told.
const UNKNOWN: Millis = Millis::from_seconds(60);

/// A deadline as it was told. One in the past is unknown: `cargo lambda watch` names one in 1970.
#[must_use]
pub fn known(told: Timestamp, now: Timestamp) -> Timestamp {
    if told < now { now.plus(UNKNOWN) } else { told }
}
