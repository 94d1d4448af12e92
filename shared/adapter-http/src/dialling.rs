//! The progress of connecting for one attempt: a timeout says which step took too long.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use postrider_domain::outcome::{Phase, Timings};

/// The connection steps of one attempt.
pub(crate) struct Dialling {
    /// How long all steps may take together.
    pub(crate) budget: Duration,
    steps: Mutex<Steps>,
}

/// The current step, when it started, and how long the earlier ones took.
#[derive(Clone, Copy)]
pub(crate) struct Steps {
    pub(crate) phase: Phase,
    pub(crate) since: Instant,
    pub(crate) timings: Timings,
}

impl Dialling {
    pub(crate) fn new(budget: Duration) -> Self {
        let steps = Steps {
            phase: Phase::Check,
            since: now(),
            timings: Timings::default(),
        };
        Self {
            budget,
            steps: Mutex::new(steps),
        }
    }

    /// Ends the previous step and starts this one.
    pub(crate) fn enter(&self, phase: Phase) {
        let mut steps = self.steps.lock();
        *steps = steps.ended(now());
        steps.phase = phase;
    }

    pub(crate) fn steps(&self) -> Steps {
        *self.steps.lock()
    }
}

impl Steps {
    /// Records the duration of the current step.
    pub(crate) fn ended(mut self, at: Instant) -> Self {
        let took = Some(millis(at.saturating_duration_since(self.since)));
        match self.phase {
            Phase::Dns => self.timings.dns_ms = took,
            Phase::Connect => self.timings.connect_ms = took,
            Phase::Tls => self.timings.tls_ms = took,
            Phase::Render | Phase::Check | Phase::FirstByte | Phase::Body => {}
        }
        self.since = at;
        self
    }
}

/// The current instant, for durations that are reported, and for what the sender knows about the network.
#[expect(
    clippy::disallowed_methods,
    reason = "the sender has no other clock; what depends on it takes the instant as a value"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}

pub(crate) fn millis(span: Duration) -> u32 {
    u32::try_from(span.as_millis()).unwrap_or(u32::MAX)
}
