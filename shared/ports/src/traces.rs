//! Where spans go.

use crate::spans::{Share, Span, TraceId};
use async_trait::async_trait;
use url::Url;

/// Records spans for a collector. Loses them rather than keep anybody waiting.
#[async_trait]
pub trait Traces: Send + Sync {
    /// Whether spans of this trace are recorded. The same in every process.
    fn wants(&self, trace: TraceId) -> bool;

    /// Takes a span and returns at once.
    fn record(&self, span: Span);

    /// Sends on what was recorded so far. Returns when that is done or takes too long, never with an error.
    async fn flush(&self);
}

/// Where spans go, and which.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceSettings {
    /// The collector's address for traces, in full.
    pub endpoint: Url,
    /// What this gateway is called there.
    pub service_name: String,
    /// Which part of all traces is recorded.
    pub share: Share,
}
