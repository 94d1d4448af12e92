//! How much of a rejected request is stored.

use bytes::Bytes;
use http::HeaderMap;

use super::MAX_BYTES;
use crate::inbound::Inbound;

/// For headers, path and query together.
const MAX_HEAD_BYTES: usize = 12 * 1024;
const MAX_HEADERS: usize = 64;
const MAX_PATH_BYTES: usize = 1024;
const MAX_QUERY_BYTES: usize = 2048;

/// Truncates the request, and returns whether anything was cut. The first headers are kept.
pub(super) fn bound(request: Inbound) -> (Inbound, bool) {
    let (path, query) = (
        start(&request.path, MAX_PATH_BYTES),
        request
            .query
            .as_deref()
            .map(|query| start(query, MAX_QUERY_BYTES)),
    );
    let mut used = path.len() + query.as_ref().map_or(0, String::len);
    let mut headers = HeaderMap::new();
    for (name, value) in &request.headers {
        let needed = name.as_str().len() + value.len();
        if headers.len() < MAX_HEADERS && used + needed <= MAX_HEAD_BYTES {
            used += needed;
            headers.append(name, value.clone());
        }
    }
    let body = request
        .body
        .slice(..request.body.len().min(MAX_BYTES - used));
    let is_cut = body.len() < request.body.len()
        || headers.len() < request.headers.len()
        || path.len() < request.path.len()
        || query.as_ref().map(String::len) < request.query.as_ref().map(String::len);
    // A slice would hold the whole body in memory.
    let body = Bytes::copy_from_slice(&body);
    let bounded = Inbound {
        method: request.method,
        path,
        query,
        headers,
        body,
    };
    (bounded, is_cut)
}

fn start(text: &str, bytes: usize) -> String {
    let start = text.get(..text.floor_char_boundary(bytes));
    start.unwrap_or_default().to_owned()
}
