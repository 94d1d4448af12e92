//! The metrics of the process.

use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};
use postrider_gateway::metrics as process;
use postrider_web::requests;

/// The metrics of this process. Added to the router as an extension, they become part of `/metrics`. A Lambda function
/// has none, because many instances run at once.
#[derive(Clone)]
pub struct Counters(PrometheusHandle);

impl Counters {
    /// Installs the recorder; once per process.
    ///
    /// # Errors
    /// If a recorder is already installed.
    pub fn install() -> Result<Self, BuildError> {
        let full = |name: &str| Matcher::Full(name.to_owned());
        let latency = process::latency_bounds();
        let handle = PrometheusBuilder::new()
            .set_buckets_for_metric(full(process::ATTEMPT_SECONDS), &process::ATTEMPT_BOUNDS)?
            .set_buckets_for_metric(full(process::LATENCY_SECONDS), &latency)?
            .set_buckets_for_metric(full(requests::SECONDS), &requests::BOUNDS)?
            .install_recorder()?;
        process::describe();
        process::start_at_zero();
        requests::describe();
        Ok(Self(handle))
    }

    /// Sorts observations into the histograms. Until then each observation takes memory, so call this every few seconds.
    pub fn sort_in(&self) {
        self.0.run_upkeep();
    }

    pub(super) fn render(&self) -> String {
        self.0.render()
    }
}
