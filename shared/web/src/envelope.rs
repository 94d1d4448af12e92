//! Shared by all routers: responses for unknown paths and methods, and common headers.

use http::{HeaderMap, HeaderValue, header};

use crate::problem::{Code, Problem};

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
