//! What is the same for every request: answers to paths and methods that do not exist, and headers.

use http::{HeaderMap, HeaderValue, header};

use crate::problem::{Code, Problem};

/// Answers a path that does not exist. The path is not repeated: it may be a mistyped secret.
pub async fn unknown_route() -> Problem {
    let detail = "there is no such path; /openapi.json lists every path";
    Problem::new(Code::UnknownRoute, detail)
}

/// Answers a method that a path does not know; axum adds `Allow`.
pub async fn method_not_allowed() -> Problem {
    let detail = "the header Allow names the methods that the path knows";
    Problem::new(Code::MethodNotAllowed, detail)
}

/// Sets the headers of every answer: it is what it says it is, and nobody keeps it.
pub fn set_headers(headers: &mut HeaderMap) {
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
}
