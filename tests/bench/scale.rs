//! What this machine can do without the gateway.

use crate::plan::CONNECTIONS;

/// How many syncs' time a publisher waits for one answer, at best: its request just misses a commit every other time.
const SYNCS_PER_ACCEPT: f64 = 1.5;

/// What results are compared to.
pub(crate) struct Scale {
    /// How long the disk takes to sync, in milliseconds.
    pub(crate) fsync: f64,
    /// The result of a client without a gateway.
    pub(crate) bare: Bare,
}

/// A client that posts straight at the receiver.
pub(crate) struct Bare {
    /// Requests in a second, over all connections.
    pub(crate) rate: f64,
    /// How long one request takes when nothing else is under way, in milliseconds.
    pub(crate) post: f64,
}

impl Scale {
    /// What a gateway that costs nothing could deliver in a second: as fast as the receiver takes it, and no faster
    /// than the disk lets publishers go on.
    pub(crate) fn ceiling(&self) -> f64 {
        let accepted = CONNECTIONS as f64 * 1000.0 / (SYNCS_PER_ACCEPT * self.fsync);
        self.bare.rate.min(accepted)
    }
}
