//! The speed of this machine without the gateway.

use crate::plan::CONNECTIONS;

/// How many syncs a publisher waits for a response, at best: its request just misses a commit every other time.
const SYNCS_PER_ACCEPT: f64 = 1.5;

/// The baseline that results are compared with.
pub(crate) struct Scale {
    /// How long the disk takes to sync, in milliseconds.
    pub(crate) fsync: f64,
    /// The result of a client without a gateway.
    pub(crate) bare: Bare,
}

/// A client that posts directly to the receiver.
pub(crate) struct Bare {
    /// Requests per second, over all connections.
    pub(crate) rate: f64,
    /// How long one request takes when no other is in flight, in milliseconds.
    pub(crate) post: f64,
    /// CPU time of client and receiver together for one request, in seconds: the unit of every cost.
    pub(crate) cpu: f64,
    /// The same at 100 requests per second.
    pub(crate) slow_cpu: f64,
}

impl Scale {
    /// How many deliveries per second a gateway without any cost could reach: as many as the receiver accepts, and no
    /// more than the disk allows publishers to send.
    pub(crate) fn ceiling(&self) -> f64 {
        let accepted = CONNECTIONS as f64 * 1000.0 / (SYNCS_PER_ACCEPT * self.fsync);
        self.bare.rate.min(accepted)
    }
}
