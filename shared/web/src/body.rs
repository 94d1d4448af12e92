//! Reading a request's body with limits on size and time.

use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, header};
use http_body_util::BodyExt;
use postrider_domain::invalid::Invalid;

use crate::problem::{Code, Problem};

/// The largest document; events have limits of their own.
pub const MAX_DOCUMENT_BYTES: usize = 64 * 1024;
const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// How much of a body that is too large is read and discarded. Closing the connection while the client is still writing
/// resets it, and the client would never see the response.
const DRAINED_BYTES: usize = 32 * 1024 * 1024;

/// Reads the body of a JSON request of at most `limit` bytes.
///
/// # Errors
/// If the body is too large or too slow, or its content type is not JSON.
pub async fn read_json(request: Request, limit: usize) -> Result<Bytes, Problem> {
    let (parts, body) = request.into_parts();
    check_content_type(&parts.headers)?;
    read_bytes(&parts.headers, body, limit).await
}

/// Reads a body of at most `limit` bytes.
///
/// # Errors
/// If the body is too large or too slow.
pub async fn read_bytes(headers: &HeaderMap, body: Body, limit: usize) -> Result<Bytes, Problem> {
    // A client that waits for `100 Continue` has sent nothing yet, so it gets the error before it does.
    let waits = headers.contains_key(header::EXPECT);
    if waits && declared_length(headers).is_some_and(|length| length > limit) {
        return Err(Problem::too_large("request body", limit));
    }
    read_within(BODY_TIMEOUT, body, limit).await
}

async fn read_within(patience: Duration, body: Body, limit: usize) -> Result<Bytes, Problem> {
    match tokio::time::timeout(patience, read(body, limit)).await {
        Ok(read) => read,
        Err(_) => {
            let detail = format!("the body must arrive within {} seconds", patience.as_secs());
            Err(Problem::new(Code::RequestTimeout, detail))
        }
    }
}

async fn read(mut body: Body, limit: usize) -> Result<Bytes, Problem> {
    let (mut whole, mut seen) = (Collected::default(), 0_usize);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Invalid::field("body", "could not be read completely"))?;
        let Ok(chunk) = frame.into_data() else {
            continue;
        };
        seen = seen.saturating_add(chunk.len());
        if seen <= limit {
            whole.add(chunk);
        } else {
            whole = Collected::default();
            if seen > limit.saturating_add(DRAINED_BYTES) {
                break;
            }
        }
    }
    if seen > limit {
        return Err(Problem::too_large("request body", limit));
    }
    Ok(whole.into_bytes())
}

/// Most bodies arrive in one piece and are not copied.
#[derive(Default)]
struct Collected {
    first: Bytes,
    more: BytesMut,
}

impl Collected {
    fn add(&mut self, chunk: Bytes) {
        if self.first.is_empty() {
            self.first = chunk;
            return;
        }
        if self.more.is_empty() {
            self.more.reserve(self.first.len() + chunk.len());
            self.more.extend_from_slice(&self.first);
        }
        self.more.extend_from_slice(&chunk);
    }

    fn into_bytes(self) -> Bytes {
        if self.more.is_empty() {
            self.first
        } else {
            self.more.freeze()
        }
    }
}

fn declared_length(headers: &HeaderMap) -> Option<usize> {
    headers
        .get(header::CONTENT_LENGTH)?
        .to_str()
        .ok()?
        .parse()
        .ok()
}

/// JSON in UTF-8, or no content type at all.
fn check_content_type(headers: &HeaderMap) -> Result<(), Problem> {
    let Some(value) = headers.get(header::CONTENT_TYPE) else {
        return Ok(());
    };
    let text = value.to_str().unwrap_or_default().to_ascii_lowercase();
    let mut parts = text.split(';').map(str::trim);
    let essence = parts.next().unwrap_or_default();
    let is_json = essence == "application/json"
        || (essence.starts_with("application/") && essence.ends_with("+json"));
    let is_utf8 = parts.all(|parameter| match parameter.split_once('=') {
        Some(("charset", charset)) => charset.trim_matches('"') == "utf-8",
        _ => true,
    });
    if is_json && is_utf8 {
        Ok(())
    } else {
        Err(Problem::new(
            Code::UnsupportedMediaType,
            "the Content-Type must be application/json (UTF-8)",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::stream;

    type Piece = Result<Bytes, std::io::Error>;

    #[tokio::test]
    async fn reading_a_body_that_never_arrives_times_out() {
        let body = Body::from_stream(stream::pending::<Piece>());
        let problem = read_within(Duration::ZERO, body, 10).await.unwrap_err();
        assert_eq!(problem.code(), Code::RequestTimeout);
    }

    #[tokio::test]
    async fn an_endless_body_is_rejected() {
        let piece = Bytes::from(vec![b' '; 1024 * 1024]);
        let endless = stream::repeat_with(move || Piece::Ok(piece.clone()));
        let problem = read(Body::from_stream(endless), 10).await.unwrap_err();
        assert_eq!(problem.code(), Code::PayloadTooLarge);
    }

    #[tokio::test]
    async fn a_body_in_one_piece_is_not_copied() {
        let whole = Bytes::from_static(b"{\"a\":1}");
        let bytes = read(Body::from(whole.clone()), 10).await.unwrap();
        assert_eq!(bytes.as_ptr(), whole.as_ptr());
        let over = read(Body::from(whole), 6).await.unwrap_err();
        assert_eq!(over.code(), Code::PayloadTooLarge);
    }
}
