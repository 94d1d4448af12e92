//! Rejected requests, stored for a while so that the source's owner can see what was wrong with them.
//!
//! Anyone can send any number of them, so everything is limited: how much of a request is stored, how many per source
//! and how many per minute. The rest are only counted.

mod bound;
mod counts;

use std::fmt;

use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_LENGTH;

pub use counts::RejectionCounts;

use crate::diagnosis::{Finding, diagnose, diagnose_without_body};
use crate::ids::{RejectedId, SourceId, TenantId};
use crate::inbound::{Inbound, Rejection};
use crate::source::Source;
use crate::time::{Millis, Timestamp};

/// Stored rejected requests per source: the last ten minutes of a flood.
pub const RING: u64 = 100;
/// Requests stored per source and minute.
pub const PER_MINUTE: u32 = 10;
pub const KEPT_FOR: Millis = Millis::from_seconds(7 * 86_400);
/// Bytes stored per request.
pub const MAX_BYTES: usize = 32 * 1024;

/// A rejected request as it is stored.
#[derive(Clone, PartialEq, Eq)]
pub struct RejectedRequest {
    pub tenant: TenantId,
    /// [`SourceId::UNKNOWN`] if the source does not exist.
    pub source: SourceId,
    pub at: Timestamp,
    pub reason: Rejection,
    /// Truncated to [`MAX_BYTES`].
    pub request: Inbound,
    /// The length of the received body; for one that was too large, the declared `Content-Length`.
    pub body_bytes: u64,
    /// Whether `request` was truncated.
    pub is_cut: bool,
}

impl RejectedRequest {
    #[must_use]
    pub fn of(source: &Source, request: Inbound, reason: Rejection, at: Timestamp) -> Self {
        Self::bounded(source.tenant.clone(), source.id, request, reason, at)
    }

    /// The placeholder for a request to a source that does not exist: just as long, but blank. There is no owner to
    /// store it for, but the response must not take less time than others.
    #[must_use]
    pub fn to_unknown_source(request: Inbound, reason: Rejection, at: Timestamp) -> Self {
        let mut blank = Self::bounded(TenantId::default(), SourceId::UNKNOWN, request, reason, at);
        blank.request = Inbound {
            path: blank_text(&blank.request.path),
            query: blank.request.query.as_deref().map(blank_text),
            headers: HeaderMap::new(),
            body: Bytes::from(vec![0; blank.request.body.len()]),
            method: blank.request.method,
        };
        blank
    }

    fn bounded(
        tenant: TenantId,
        source: SourceId,
        request: Inbound,
        reason: Rejection,
        at: Timestamp,
    ) -> Self {
        let is_large = reason == Rejection::TooLarge;
        let body_bytes = if is_large {
            declared_bytes(&request.headers).unwrap_or(0)
        } else {
            request.body.len() as u64
        };
        let (request, is_cut) = bound::bound(request);
        Self {
            tenant,
            source,
            at,
            reason,
            request,
            body_bytes,
            is_cut: is_cut || is_large,
        }
    }

    /// Whether the source does not exist.
    #[must_use]
    pub fn is_to_unknown_source(&self) -> bool {
        self.source == SourceId::UNKNOWN
    }

    /// What would have matched, given the source's current and former secrets.
    #[must_use]
    pub fn diagnose(&self, source: &Source) -> Vec<Finding> {
        if self.is_cut {
            diagnose_without_body(&self.request, source, self.at)
        } else {
            diagnose(&self.request, source, self.at)
        }
    }
}

impl fmt::Debug for RejectedRequest {
    /// Omits the request: its contents must not appear in logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RejectedRequest")
            .field("source", &self.source)
            .field("at", &self.at)
            .field("reason", &self.reason)
            .field("body_bytes", &self.body_bytes)
            .finish_non_exhaustive()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRejection {
    pub id: RejectedId,
    pub rejected: RejectedRequest,
}

fn declared_bytes(headers: &HeaderMap) -> Option<u64> {
    let declared = headers.get(CONTENT_LENGTH)?.to_str().ok()?;
    // Untrusted input, and stores use signed integers.
    let declared: i64 = declared.parse().ok()?;
    u64::try_from(declared).ok()
}

fn blank_text(text: &str) -> String {
    " ".repeat(text.len())
}

#[cfg(test)]
mod tests;
