//! Exports spans.

use crate::spans::{Share, Span, TraceId};
use async_trait::async_trait;
use url::Url;

/// Records spans for a collector. Drops them rather than block a caller.
#[async_trait]
pub trait Traces: Send + Sync {
    /// Whether spans of this trace are recorded. The same in all processes.
    fn wants(&self, trace: TraceId) -> bool;

    /// Returns immediately.
    fn record(&self, span: Span);

    /// Exports what was recorded so far. Returns when that is done or takes too long, never with an error.
    async fn flush(&self);
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceSettings {
    /// The collector's full URL for traces.
    pub endpoint: Url,
    pub service_name: String,
    pub share: Share,
}
