//! Shared by all routers: responses for unknown paths and methods, and common headers.

use std::time::Instant;

use axum::extract::{MatchedPath, Request};
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderMap, HeaderValue, Method, header};
use postrider_gateway::traces;

use crate::problem::{Code, Problem};
use crate::requests::{self, ROUTE_NONE};

/// The response for an unknown path. It does not repeat the path, which may contain a mistyped secret.
pub async fn unknown_route() -> Problem {
    let detail = "this path does not exist; /openapi.json lists all paths";
    Problem::new(Code::UnknownRoute, detail)
}

/// The response for an unsupported method; axum adds `Allow`.
pub async fn method_not_allowed() -> Problem {
    let detail = "the header Allow lists the supported methods";
    Problem::new(Code::MethodNotAllowed, detail)
}

/// Sets the headers of every response: no content sniffing, no caching.
pub fn set_headers(headers: &mut HeaderMap) {
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
}

/// Sets the response headers, then logs and counts the request. The log has an allow-list of fields: no query string, no
/// header, no body.
pub async fn wrap(request: Request, next: Next) -> Response {
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
        requests::count(&self.method, self.path.as_ref(), status, elapsed);
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
