//! Metrics of HTTP requests.

use std::time::Duration;

use axum::extract::MatchedPath;
use http::{Method, StatusCode};
use metrics::{counter, describe_counter, describe_histogram, histogram};

const TOTAL: &str = "postrider_http_requests_total";
pub const SECONDS: &str = "postrider_http_request_seconds";
/// The buckets of [`SECONDS`].
pub const BOUNDS: [f64; 11] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0,
];
/// The route in logs and metrics of a path that does not exist.
pub(crate) const ROUTE_NONE: &str = "none";

/// Describes the metrics to the recorder.
pub fn describe() {
    describe_counter!(TOTAL, "HTTP requests by method, route and status");
    describe_histogram!(SECONDS, "Duration of HTTP requests by route");
}

/// Counts a request. Unknown methods and paths share one label, because callers could create any number of them.
pub(crate) fn count(
    method: &Method,
    route: Option<&MatchedPath>,
    status: StatusCode,
    elapsed: Duration,
) {
    let route = route.map_or(ROUTE_NONE, MatchedPath::as_str).to_owned();
    counter!(TOTAL, "method" => known(method), "route" => route.clone(), "status" => status.as_u16().to_string())
        .increment(1);
    histogram!(SECONDS, "route" => route).record(elapsed.as_secs_f64());
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
