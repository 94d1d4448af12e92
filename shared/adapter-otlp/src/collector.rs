//! Whether the collector accepts batches.

use std::sync::atomic::{AtomicBool, Ordering};

use tracing::{info, warn};

/// Whether the last batch was accepted. Logged when it changes, not per batch: a collector may be down for days.
#[derive(Debug, Default)]
pub(crate) struct CollectorHealth {
    is_broken: AtomicBool,
}

impl CollectorHealth {
    pub(crate) fn is_good(&self) -> bool {
        !self.is_broken.load(Ordering::Acquire)
    }

    pub(crate) fn failed(&self, reason: &str) {
        if !self.is_broken.swap(true, Ordering::AcqRel) {
            warn!(
                event = "traces.not_sent",
                reason, "the trace collector does not accept spans"
            );
        }
    }

    pub(crate) fn worked(&self) {
        if self.is_broken.swap(false, Ordering::AcqRel) {
            info!(
                event = "traces.sent_again",
                "the trace collector accepts spans again"
            );
        }
    }
}
