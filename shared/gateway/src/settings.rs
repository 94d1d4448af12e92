//! The settings of the gateway: read and checked at startup, then passed as values.

pub mod portal;
mod reader;
pub mod setting;
pub mod shared;
pub mod traces;
pub mod validation;

pub use reader::{BadSettings, Reader};

use postrider_domain::egress::Rules;
use postrider_domain::retention::Retention;
use postrider_domain::retry::RuntimeRetry;
use postrider_domain::time::Millis;

use crate::settings::validation::EventValidation;

pub use postrider_domain::event::MAX_BODY_BYTES;

/// The largest request with events: enough for the largest body in base64, and little enough for the 6 MB that Lambda takes
/// with all headers.
pub const MAX_BATCH_BYTES: usize = 6_000_000;
pub const MAX_BATCH_EVENTS: usize = 100;

/// The settings of the API's use cases.
#[derive(Clone, Debug)]
pub struct GatewaySettings {
    pub max_body_bytes: usize,
    /// Which target URLs a webhook may have.
    pub egress: Rules,
    /// The gateway's own retry settings, to show a webhook's effective policy.
    pub retry: RuntimeRetry,
    pub event_validation: EventValidation,
}

/// The settings of the embedded worker.
#[derive(Clone, Copy, Debug)]
pub struct WorkerSettings {
    /// The maximum number of attempts in flight per webhook.
    pub per_webhook: usize,
    /// The maximum number of attempts in flight in total.
    pub total: usize,
    /// The longest sleep between two checks for due deliveries.
    pub poll_interval: Millis,
    /// The gateway's own retry settings.
    pub retry: RuntimeRetry,
    pub retention: Retention,
}

impl WorkerSettings {
    /// A delivery that failed keeps its slot until its result is committed.
    pub const PER_WEBHOOK: usize = 128;
    pub const TOTAL: usize = 1024;
    pub const POLL_INTERVAL: Millis = Millis::new(5000);
}

impl Default for WorkerSettings {
    fn default() -> Self {
        Self {
            per_webhook: Self::PER_WEBHOOK,
            total: Self::TOTAL,
            poll_interval: Self::POLL_INTERVAL,
            retry: RuntimeRetry::default(),
            retention: Retention::default(),
        }
    }
}
