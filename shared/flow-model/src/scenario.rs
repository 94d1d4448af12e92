//! One case: who sends how much to whom, and for how long.

use postrider_domain::flow::{Limits, Ramp};
use postrider_domain::retry::Profile;

use crate::receiver::Receiver;

#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    pub profile: Profile,
    pub load: Load,
    pub load_s: u64,
    pub end_s: u64,
    pub receiver: Receiver,
    pub shape: Shape,
    pub seed: u64,
    /// In this second, the calls of one instant see a clock that is a day ahead.
    pub clock_ahead_at_s: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
pub enum Load {
    PerSecond(u64),
    PerMinute(u64),
    /// So many at once, each minute.
    Bursts(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One process with 128 attempts in flight.
    Embedded,
    /// 50 workers, each with its own sample, and one drainer while there is a backlog.
    Aws,
}

impl Scenario {
    /// Five minutes of load.
    pub const fn new(per_second: u64, receiver: Receiver) -> Self {
        Self {
            profile: Profile::Standard,
            load: Load::PerSecond(per_second),
            load_s: 300,
            end_s: 300,
            receiver,
            shape: Shape::Embedded,
            seed: 1,
            clock_ahead_at_s: None,
        }
    }

    pub const fn lasting(self, load_s: u64, end_s: u64) -> Self {
        Self {
            load_s,
            end_s,
            ..self
        }
    }

    pub const fn under(self, profile: Profile) -> Self {
        Self { profile, ..self }
    }

    pub const fn on(self, shape: Shape) -> Self {
        Self { shape, ..self }
    }

    pub const fn seeded(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    pub const fn with_clock_ahead_at(self, second: u64) -> Self {
        Self {
            clock_ahead_at_s: Some(second),
            ..self
        }
    }

    pub(crate) const fn limits(&self) -> Limits {
        let ramp = match self.profile {
            Profile::Standard | Profile::PublicApi => Ramp::On,
            Profile::Gateway | Profile::Custom => Ramp::Off,
        };
        Limits {
            retry_rate: 5,
            ramp,
            max_rate: None,
            max_in_flight: None,
        }
    }
}

impl Load {
    /// How many events were published before this millisecond.
    pub(crate) const fn until(self, ms: u64) -> u64 {
        match self {
            Self::PerSecond(rate) => ms * rate / 1000,
            Self::PerMinute(rate) => ms * rate / 60_000,
            Self::Bursts(size) => ms.div_ceil(60_000) * size,
        }
    }
}
