//! One POST to a receiver.

use async_trait::async_trait;
use bytes::Bytes;
use http::HeaderMap;
use postrider_domain::outcome::Outcome;
use postrider_domain::time::Millis;
use url::Url;

/// A request ready to be sent: signed, with every header it shall carry.
#[derive(Clone, Debug)]
pub struct Post {
    /// Where to. Checked against the egress rules at each attempt.
    pub target_url: Url,
    /// All headers but `Host` and `Content-Length`.
    pub headers: HeaderMap,
    /// The body, byte for byte.
    pub body: Bytes,
    /// How long the whole attempt may take, connecting and body included.
    pub timeout: Millis,
}

/// Sends requests to receivers.
///
/// One call is at most one request on the wire: an implementation never retries, follows no redirect, honours no
/// proxy variable and decodes no content encoding. It returns within the timeout and a second, whatever the receiver
/// does, and never fails: what went wrong is part of the [`Outcome`].
#[async_trait]
pub trait Sender: Send + Sync {
    /// Posts once and says what came back.
    async fn post(&self, request: Post) -> Outcome;
}
