//! The metrics of the process.

use std::time::Duration;

use axum::extract::MatchedPath;
use http::{Method, StatusCode};
use metrics::{counter, describe_counter, describe_histogram, histogram};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};
use postrider_gateway::metrics as process;

const REQUESTS: &str = "postrider_http_requests_total";
const REQUEST_SECONDS: &str = "postrider_http_request_seconds";
const REQUEST_BOUNDS: [f64; 11] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0,
];

/// The route in logs and metrics of a path that does not exist.
pub(crate) const ROUTE_NONE: &str = "none";

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
            .set_buckets_for_metric(full(REQUEST_SECONDS), &REQUEST_BOUNDS)?
            .install_recorder()?;
        process::describe();
        describe_counter!(REQUESTS, "HTTP requests by method, route and status");
        describe_histogram!(REQUEST_SECONDS, "Duration of HTTP requests by route");
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

/// Counts a request. Unknown methods and paths share one label, because callers could create any number of them.
pub(crate) fn requested(
    method: &Method,
    route: Option<&MatchedPath>,
    status: StatusCode,
    elapsed: Duration,
) {
    let route = route.map_or(ROUTE_NONE, MatchedPath::as_str).to_owned();
    counter!(REQUESTS, "method" => known(method), "route" => route.clone(), "status" => status.as_u16().to_string())
        .increment(1);
    histogram!(REQUEST_SECONDS, "route" => route).record(elapsed.as_secs_f64());
}

fn known(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::HEAD => "HEAD",
        _ => "other",
    }
}
