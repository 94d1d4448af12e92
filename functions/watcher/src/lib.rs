//! Watches the first records of rows in the table's stream, and makes sure that the poller finds those that stay open.

mod records;

use std::sync::Arc;

use lambda_runtime::{Error, LambdaEvent};
use postrider_gateway::watch::{Watched, Watcher};
use postrider_ports::clock::Clock;
use postrider_ports::watch::Watch;
use postrider_wiring::metrics::{self, Metric, Unit};
use serde_json::{Value, json};
use tracing::{debug, error, warn};

/// Handles batches of first records.
pub struct WatchFunction {
    watcher: Watcher,
    clock: Arc<dyn Clock>,
    gateway: String,
}

impl WatchFunction {
    /// The watcher of the named gateway.
    #[must_use]
    pub fn new(store: Arc<dyn Watch>, clock: Arc<dyn Clock>, gateway: String) -> Self {
        Self {
            watcher: Watcher::new(store, Arc::clone(&clock)),
            clock,
            gateway,
        }
    }

    /// Handles a batch. The stream goes on behind it only if all of it is done.
    ///
    /// # Errors
    /// If something could not be read or written, so that Lambda delivers the whole batch again, as often as it takes.
    pub async fn handle(&self, event: LambdaEvent<Value>) -> Result<Value, Error> {
        let mut rows = Vec::new();
        for record in records::read(event.payload)? {
            match record {
                Ok(row) => rows.extend(row),
                // It stays unreadable, and would hold up all rows behind it.
                Err(reason) => {
                    error!(event = "watch.unreadable", %reason, "a stream record cannot be read and is skipped");
                }
            }
        }
        let watched = self.watcher.watch(rows).await.map_err(|reason| {
            warn!(event = "watch.failed", %reason, "a batch of accepted rows could not be checked; it is delivered again");
            reason
        })?;
        self.report(watched);
        let Watched { rows, recovered } = watched;
        debug!(
            event = "watch.done",
            rows, recovered, "checked {rows} accepted rows"
        );
        Ok(json!({ "rows": rows, "recovered": recovered }))
    }

    fn report(&self, watched: Watched) {
        let count = |name, value: usize| Metric::of(name, Unit::Count, value as u64);
        let counts = [
            count("watched_rows", watched.rows),
            count("recovered_rows", watched.recovered),
        ];
        if let Err(reason) = metrics::emit(&self.gateway, self.clock.now(), &counts) {
            warn!(event = "watch.metrics_failed", %reason, "the metrics of the batch could not be written");
        }
    }
}
