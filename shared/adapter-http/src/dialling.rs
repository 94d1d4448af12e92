//! How far the connecting for one attempt has come.
//!
//! The client's connector is told a URI and nothing else, so the attempt that it dials for is handed over as a task-local
//! value: the connector is first called while that attempt's request is being polled.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use postrider_domain::outcome::{Phase, Timings};

tokio::task_local! {
    /// The attempt whose request is being polled.
    pub(crate) static CURRENT: Arc<Dialling>;
}

/// The steps of connecting that one attempt has gone through.
pub(crate) struct Dialling {
    /// How long all steps may take together.
    pub(crate) budget: Duration,
    steps: Mutex<Steps>,
}

/// A step, since when, and how long those before it took.
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

    /// The attempt that the connector is called for.
    pub(crate) fn current(budget: Duration) -> Arc<Self> {
        CURRENT
            .try_with(Arc::clone)
            .unwrap_or_else(|_| Arc::new(Self::new(budget)))
    }

    /// Ends the step before and begins this one.
    pub(crate) fn enter(&self, phase: Phase) {
        let mut steps = self.steps.lock();
        *steps = steps.ended(now());
        steps.phase = phase;
    }

    /// Where it stands.
    pub(crate) fn steps(&self) -> Steps {
        *self.steps.lock()
    }
}

impl Steps {
    /// With the present step's time noted.
    pub(crate) fn ended(mut self, at: Instant) -> Self {
        let took = Some(millis(at.saturating_duration_since(self.since)));
        match self.phase {
            Phase::Dns => self.timings.dns_ms = took,
            Phase::Connect => self.timings.connect_ms = took,
            Phase::Tls => self.timings.tls_ms = took,
            Phase::Check | Phase::FirstByte | Phase::Body => {}
        }
        self.since = at;
        self
    }
}

/// The present instant, for durations that are reported but decide nothing.
#[expect(
    clippy::disallowed_methods,
    reason = "timings are reported, and nothing is decided by them"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// A span in whole milliseconds.
pub(crate) fn millis(span: Duration) -> u32 {
    u32::try_from(span.as_millis()).unwrap_or(u32::MAX)
}
