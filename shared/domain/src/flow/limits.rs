//! The settings of one webhook that limit its attempts. Handed in with each call: they may change at any time.

use serde::{Deserialize, Serialize};

use super::{CEILING_MILLI, FLOOR_MILLI, MILLI};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Retries per second at which a webhook without a history starts; with [`Ramp::Off`] also the maximum. 1 to 10,000.
    pub retry_rate: u32,
    pub ramp: Ramp,
    /// The maximum for all attempts, per second.
    pub max_rate: Option<u32>,
    /// Enforced by the caller, which knows what is in flight.
    pub max_in_flight: Option<u32>,
}

/// Whether retries may go faster than `retry_rate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ramp {
    /// Retries go at the limiter's rate, which adapts to what the receiver takes.
    On,
    /// Retries also need credit of a bucket that is fixed at `retry_rate`.
    Off,
}

impl Ramp {
    pub const ALL: [Self; 2] = [Self::On, Self::Off];

    /// The name in the API.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Off => "off",
        }
    }
}

impl Limits {
    /// Whether its attempts are counted whatever its receiver takes. Processes that share such a webhook leave it to one.
    #[must_use]
    pub const fn is_capped(&self) -> bool {
        self.max_rate.is_some() || self.max_in_flight.is_some()
    }

    /// The rate of a webhook that nothing is known about, in thousandths of an attempt per second.
    pub(super) fn start_milli(&self) -> u32 {
        self.clamp_milli(per_second(self.retry_rate))
    }

    /// The bucket that only retries need, if the webhook has one.
    pub(super) fn retry_milli(&self) -> Option<u32> {
        match self.ramp {
            Ramp::On => None,
            Ramp::Off => Some(per_second(self.retry_rate)),
        }
    }

    /// The bucket that all attempts need, if the webhook has one.
    pub(super) fn max_milli(&self) -> Option<u32> {
        self.max_rate.map(per_second)
    }

    pub(super) fn clamp_milli(&self, rate_milli: u32) -> u32 {
        let most = self
            .max_milli()
            .map_or(CEILING_MILLI, |max| max.min(CEILING_MILLI));
        rate_milli.clamp(FLOOR_MILLI, most)
    }
}

/// At least one attempt per second, whatever was stored.
fn per_second(rate: u32) -> u32 {
    rate.saturating_mul(MILLI).max(FLOOR_MILLI)
}
