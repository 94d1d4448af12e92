//! How fast a webhook is called: the flow limiter of one webhook. Pure integer arithmetic, the same for every store.
//!
//! A webhook is normally not limited: first attempts go at once, and retries go at the limiter's rate. When the receiver
//! cannot keep up, the webhook becomes limited. Then all attempts need credit of the rate, which follows what the receiver
//! takes. The webhook opens again when its receiver keeps up and nothing waits.
//!
//! `shared/flow-model` runs these rules against models of receivers; every constant was chosen by its table.

mod change;
mod credit;
mod limiter;
mod limits;
mod observed;
mod process;
mod sample;
mod status;
mod step;
mod tally;

pub use change::{Change, Rates};
pub use credit::Credit;
pub use limiter::Limiter;
pub use limits::{Limits, Ramp};
pub use observed::{Observation, Observed};
pub use process::Flow;
pub use sample::{FAILURES_IN_A_ROW, Sample, Symptom};
pub use status::{FlowStatus, WaitingFor};

use serde::{Deserialize, Serialize};

use crate::delivery::Delivery;
use crate::time::{Millis, Timestamp};

/// A share in thousandths.
type PerMille = u16;

/// Rates are in thousandths of an attempt per second.
const MILLI: u32 = 1000;
/// The slowest rate.
pub const FLOOR_MILLI: u32 = 1000;
/// The fastest rate of a limiter.
pub const CEILING_MILLI: u32 = 1_000_000;

/// The kind of an attempt, told by its row alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptKind {
    /// The delivery was never attempted.
    First,
    /// Any later attempt, also of what an operator requeued.
    Retry,
}

impl AttemptKind {
    #[must_use]
    pub const fn of(delivery: &Delivery) -> Self {
        match delivery.attempts_total {
            0 => Self::First,
            1.. => Self::Retry,
        }
    }
}

/// The due times of the oldest deliveries of a webhook that are due and not in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    pub first_due_at: Option<Timestamp>,
    pub retry_due_at: Option<Timestamp>,
}

impl Waiting {
    const fn is_empty(&self) -> bool {
        self.first_due_at.is_none() && self.retry_due_at.is_none()
    }
}

/// When a backlog will be empty at this rate.
#[must_use]
pub fn empty_at(backlog: u64, rate_milli: u32, now: Timestamp) -> Timestamp {
    let ms = u128::from(backlog) * 1_000_000 / u128::from(rate_milli.max(1));
    now.plus(Millis::new(u64::try_from(ms).unwrap_or(u64::MAX)))
}

/// A part of a rate.
fn part_of(rate_milli: u32, part: PerMille) -> u32 {
    let product = u64::from(rate_milli) * u64::from(part) / 1000;
    u32::try_from(product).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
