//! Whether a connection belongs to a caller that the gateway knows.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::Extensions;

/// A mark that a server puts on every request of a connection. A server that runs out of connections closes unmarked ones
/// first, so strangers cannot shut out callers with a key.
#[derive(Clone, Debug, Default)]
pub struct Recognised(Arc<AtomicBool>);

impl Recognised {
    /// Marks the connection of a request that had a valid key, session or signature.
    pub fn mark(extensions: &Extensions) {
        if let Some(Self(mark)) = extensions.get() {
            mark.store(true, Ordering::Relaxed);
        }
    }

    #[must_use]
    pub fn is_marked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
