//! What applies to every request: response headers, log line, metrics.

use std::time::Instant;

use axum::extract::{MatchedPath, Request};
use axum::middleware::Next;
use axum::response::Response;
use http::Method;
use postrider_gateway::traces;
use postrider_web::envelope::set_headers;
pub(crate) use postrider_web::envelope::{method_not_allowed, unknown_route};

use crate::metrics::{self, ROUTE_NONE};

/// Sets the response headers, then logs and counts the request. The log has an allow-list of fields: no query string, no
/// header, no body.
pub(crate) async fn wrap(request: Request, next: Next) -> Response {
    let line = LogLine::of(&request);
    let cause = traces::cause(request.headers());
    let mut response = traces::caused_by(cause, next.run(request)).await;
    set_headers(response.headers_mut());
    line.log(&response);
    response
}

struct LogLine {
    method: Method,
    path: Option<MatchedPath>,
    began: Instant,
}

impl LogLine {
    #[expect(
        clippy::disallowed_methods,
        reason = "only measures a duration for the log"
    )]
    fn of(request: &Request) -> Self {
        Self {
            method: request.method().clone(),
            path: request.extensions().get::<MatchedPath>().cloned(),
            began: Instant::now(),
        }
    }

    fn log(&self, response: &Response) {
        let (status, elapsed) = (response.status(), self.began.elapsed());
        metrics::requested(&self.method, self.path.as_ref(), status, elapsed);
        tracing::debug!(
            event = "api.request",
            http.method = self.method.as_str(),
            http.route = self.path.as_ref().map_or(ROUTE_NONE, MatchedPath::as_str),
            http.status = status.as_u16(),
            elapsed_ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
            "answered {}",
            status.as_u16()
        );
    }
}
