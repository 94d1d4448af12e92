//! What can be set about the gateway. Read and checked at the edge, handed in as values.

mod reader;
mod shared;
mod traces;

pub use reader::{BadSettings, Reader};

use postrider_domain::egress::Rules;
use postrider_domain::retention::Retention;
use postrider_domain::retry::RuntimeRetry;
use postrider_domain::time::Millis;

/// The largest body of one event in the embedded gateway.
pub const MAX_BODY_BYTES: usize = 1024 * 1024;
/// The largest body of one event on AWS: with the rest of its item it has to fit into the 400 KB of a `DynamoDB` item.
pub const MAX_BODY_BYTES_ON_AWS: usize = 350 * 1024;
/// The largest batch of events, in bytes.
pub const MAX_BATCH_BYTES: usize = 4 * 1024 * 1024;
/// The largest batch of events, in events.
pub const MAX_BATCH_EVENTS: usize = 100;

/// Limits of what is taken in.
#[derive(Clone, Debug)]
pub struct GatewaySettings {
    /// The largest body of one event.
    pub max_body_bytes: usize,
    /// Which destinations may be saved.
    pub egress: Rules,
    /// The gateway's own retry settings, for those who ask what a webhook's come to.
    pub retry: RuntimeRetry,
}

/// How the embedded gateway sends.
#[derive(Clone, Copy, Debug)]
pub struct WorkerSettings {
    /// How many attempts one webhook may have under way.
    pub per_webhook: usize,
    /// How many attempts may be under way in all.
    pub in_all: usize,
    /// How long it sleeps at the most.
    pub poll_interval: Millis,
    /// The gateway's own retry settings.
    pub retry: RuntimeRetry,
    /// How long rows are kept.
    pub retention: Retention,
}

impl WorkerSettings {
    /// How far ahead rows that are due are given turns: until the next sweep, which gives those that follow.
    #[must_use]
    pub fn turns_ahead(&self) -> Millis {
        self.poll_interval.max(Millis::from_seconds(5))
    }

    /// How far ahead a sweep gives turns to rows that were set aside: until the one after the next, so that there is no
    /// gap, and none is left for rows that came later.
    #[must_use]
    pub fn released_ahead(&self) -> Millis {
        self.turns_ahead().plus(self.turns_ahead())
    }
}

impl Default for WorkerSettings {
    fn default() -> Self {
        Self {
            // A fresh row takes its place before it is committed. With fewer, publishers who wait for the disk take
            // most of them, and rows that could go out at once are stored free and claimed again.
            per_webhook: 128,
            in_all: 1024,
            poll_interval: Millis::new(5000),
            retry: RuntimeRetry::default(),
            retention: Retention::default(),
        }
    }
}
