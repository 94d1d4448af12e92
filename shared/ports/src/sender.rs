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
    /// From the established connection to the end of the response. Connecting has a limit of its own.
    pub timeout: Millis,
}

/// Sends requests to receivers.
///
/// One call is at most one request on the wire: an implementation never retries, follows no redirect, honours no
/// proxy variable and decodes no content encoding. Whatever the receiver does, it returns at most a second after
/// [`longest_attempt`](postrider_domain::webhook::longest_attempt), and never fails: failures are part of the
/// [`Outcome`].
#[async_trait]
pub trait Sender: Send + Sync {
    async fn post(&self, request: Post) -> Outcome;
}
