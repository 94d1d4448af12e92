//! What is the same for every request: answers to paths and methods that do not exist, headers, the log line.

use std::time::Instant;

use axum::extract::{MatchedPath, Request};
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderValue, Method, header};

use crate::problem::{Code, Problem};

/// Answers a path that does not exist. The path is not repeated: it may be a mistyped secret.
pub(crate) async fn unknown_route() -> Problem {
    let detail = "there is no such path; /openapi.json lists every path";
    Problem::new(Code::UnknownRoute, detail)
}

/// Answers a method that a path does not know; axum adds `Allow`.
pub(crate) async fn method_not_allowed() -> Problem {
    let detail = "the header Allow names the methods that the path knows";
    Problem::new(Code::MethodNotAllowed, detail)
}

/// Sets the headers of every answer and logs the request. The log has an allow-list of fields: no query string, no
/// header, no body.
pub(crate) async fn wrap(request: Request, next: Next) -> Response {
    let line = tracing::enabled!(tracing::Level::DEBUG).then(|| LogLine::of(&request));
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Some(line) = line {
        line.log(&response);
    }
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
        reason = "a duration that is merely reported"
    )]
    fn of(request: &Request) -> Self {
        Self {
            method: request.method().clone(),
            path: request.extensions().get::<MatchedPath>().cloned(),
            began: Instant::now(),
        }
    }

    fn log(&self, response: &Response) {
        tracing::debug!(
            http.method = self.method.as_str(),
            http.route = self.path.as_ref().map_or("none", MatchedPath::as_str),
            http.status = response.status().as_u16(),
            elapsed_ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
            "api.request"
        );
    }
}
