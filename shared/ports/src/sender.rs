//! One POST to a receiver.

use async_trait::async_trait;
use bytes::Bytes;
use http::HeaderMap;
use postrider_domain::outcome::Outcome;
use postrider_domain::time::Millis;
use url::Url;

/// A request ready to send: signed, with all its headers.
#[derive(Clone, Debug)]
pub struct Post {
    /// Checked against the egress rules at each attempt.
    pub target_url: Url,
    /// All headers except `Host` and `Content-Length`.
    pub headers: HeaderMap,
    pub body: Bytes,
    /// For the whole attempt, including connecting and reading the body.
    pub timeout: Millis,
}

/// Sends requests to receivers.
///
/// One call is at most one request on the wire: an implementation never retries, follows no redirect, honours no
/// proxy variable and decodes no content encoding. It returns within the timeout and a second, whatever the receiver
/// does, and never fails: failures are part of the [`Outcome`].
#[async_trait]
pub trait Sender: Send + Sync {
    async fn post(&self, request: Post) -> Outcome;
}
