//! One POST to a receiver.

use std::fmt;

use async_trait::async_trait;
use bytes::Bytes;
use http::HeaderMap;
use postrider_domain::outcome::Outcome;
use postrider_domain::time::Millis;
use url::Url;

use crate::Error;

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

/// Why a request was not sent although its receiver is not to blame. Nothing was put on the wire.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}: {detail}")]
pub struct OwnFault {
    pub kind: OwnFaultKind,
    pub detail: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnFaultKind {
    /// No file descriptor was left.
    Descriptors,
    /// No memory or buffer was left.
    Memory,
    /// Every local port to this receiver is in use.
    Ports,
    /// No receiver can be reached.
    Network,
    /// The sender could not be set up.
    Setup,
}

/// Which requests a fault affects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    AllReceivers,
    ThisReceiver,
}

impl OwnFaultKind {
    pub const ALL: [Self; 5] = [
        Self::Descriptors,
        Self::Memory,
        Self::Ports,
        Self::Network,
        Self::Setup,
    ];

    /// The name in logs and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Descriptors => "descriptors",
            Self::Memory => "memory",
            Self::Ports => "ports",
            Self::Network => "network",
            Self::Setup => "setup",
        }
    }

    #[must_use]
    pub const fn extent(self) -> Extent {
        match self {
            Self::Ports => Extent::ThisReceiver,
            Self::Descriptors | Self::Memory | Self::Network | Self::Setup => Extent::AllReceivers,
        }
    }
}

impl fmt::Display for OwnFaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Descriptors => "no file descriptor is left",
            Self::Memory => "no memory is left for a connection",
            Self::Ports => "no local port is left",
            Self::Network => "no receiver can be reached",
            Self::Setup => "the gateway cannot send requests",
        })
    }
}

impl From<OwnFault> for Error {
    fn from(fault: OwnFault) -> Self {
        Self::Unavailable(fault.to_string())
    }
}

pub type Posted = Result<Outcome, OwnFault>;

/// Sends requests to receivers.
///
/// One call is at most one request on the wire: an implementation never retries, follows no redirect, honours no
/// proxy variable and decodes no content encoding. Whatever the receiver does, it returns at most a second after
/// [`longest_attempt`](postrider_domain::webhook::longest_attempt). A receiver's failure is part of the [`Outcome`].
#[async_trait]
pub trait Sender: Send + Sync {
    /// # Errors
    /// The gateway's machine could not open a connection.
    async fn post(&self, request: Post) -> Posted;
}
