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
/// In each of these periods a client sends at least [`PROGRESS_BYTES`], or the rest of the body. One that sends nothing is
/// noticed long before the body's own time is over.
const PROGRESS_PERIOD: Duration = Duration::from_secs(5);
const PROGRESS_BYTES: usize = 16 * 1024;
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
    read_within(BODY_TIMEOUT, PROGRESS_PERIOD, body, limit).await
}

async fn read_within(
    patience: Duration,
    period: Duration,
    body: Body,
    limit: usize,
) -> Result<Bytes, Problem> {
    match tokio::time::timeout(patience, read(period, body, limit)).await {
        Ok(read) => read,
        Err(_) => {
            let detail = format!("the body must arrive within {} seconds", patience.as_secs());
            Err(Problem::new(Code::RequestTimeout, detail))
        }
    }
}

/// The next part of a body: [`PROGRESS_BYTES`] or more, in the frames they came in; fewer at its end.
async fn next_part(body: &mut Body) -> Result<Part, Problem> {
    let mut part = Part::default();
    while part.bytes < PROGRESS_BYTES {
        let Some(frame) = body.frame().await else {
            part.is_last = true;
            break;
        };
        let frame = frame.map_err(|_| Invalid::field("body", "could not be read completely"))?;
        if let Ok(chunk) = frame.into_data() {
            part.bytes = part.bytes.saturating_add(chunk.len());
            part.chunks.push(chunk);
        }
    }
    Ok(part)
}

#[derive(Default)]
struct Part {
    chunks: Vec<Bytes>,
    bytes: usize,
    is_last: bool,
}

async fn read(period: Duration, mut body: Body, limit: usize) -> Result<Bytes, Problem> {
    let (mut whole, mut seen) = (Collected::default(), 0_usize);
    let mut is_last = false;
    while !is_last {
        let part = tokio::time::timeout(period, next_part(&mut body)).await;
        let part = part.map_err(|_| too_slow(period))??;
        is_last = part.is_last;
        seen = seen.saturating_add(part.bytes);
        if seen <= limit {
            part.chunks.into_iter().for_each(|chunk| whole.add(chunk));
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

fn too_slow(period: Duration) -> Problem {
    let detail = format!(
        "the body arrives too slowly: at least {} KiB or its end every {} seconds",
        PROGRESS_BYTES / 1024,
        period.as_secs()
    );
    Problem::new(Code::RequestTimeout, detail)
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
        let wait = Duration::from_secs(60);
        let problem = read_within(Duration::ZERO, wait, body, 10).await;
        assert_eq!(problem.unwrap_err().code(), Code::RequestTimeout);
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_trickles_in_is_given_up() {
        let trickle = stream::unfold((), |()| async {
            #[expect(clippy::disallowed_methods, reason = "virtual time")]
            tokio::time::sleep(Duration::from_secs(1)).await;
            Some((Piece::Ok(Bytes::from_static(b"x")), ()))
        });
        let slow = read(PROGRESS_PERIOD, Body::from_stream(trickle), 10_000).await;
        let slow = slow.unwrap_err();
        assert_eq!(slow.code(), Code::RequestTimeout);
        assert!(slow.detail().contains("16 KiB"), "{slow:?}");
    }

    #[tokio::test]
    async fn an_endless_body_is_rejected() {
        let piece = Bytes::from(vec![b' '; 1024 * 1024]);
        let endless = stream::repeat_with(move || Piece::Ok(piece.clone()));
        let problem = read(PROGRESS_PERIOD, Body::from_stream(endless), 10)
            .await
            .unwrap_err();
        assert_eq!(problem.code(), Code::PayloadTooLarge);
    }

    #[tokio::test]
    async fn a_body_in_one_piece_is_not_copied() {
        let whole = Bytes::from_static(b"{\"a\":1}");
        let bytes = read(PROGRESS_PERIOD, Body::from(whole.clone()), 10)
            .await
            .unwrap();
        assert_eq!(bytes.as_ptr(), whole.as_ptr());
        let over = read(PROGRESS_PERIOD, Body::from(whole), 6)
            .await
            .unwrap_err();
        assert_eq!(over.code(), Code::PayloadTooLarge);
    }
}
