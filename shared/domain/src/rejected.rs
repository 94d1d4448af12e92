//! Refused requests that are kept for a while, so that their owner can see what was wrong with them.
//!
//! A stranger can send as many as it likes, so all of it is bounded: how much of one is kept, how many of a source, and
//! how many in a minute. What is beyond is counted.

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

/// How many refused requests of a source are kept: the last ten minutes of a flood.
pub const RING: u64 = 100;
/// How many of a source are kept within a minute.
pub const PER_MINUTE: u32 = 10;
/// How long one is kept.
pub const KEPT_FOR: Millis = Millis::from_seconds(7 * 86_400);
/// How much of one is kept, in bytes.
pub const MAX_BYTES: usize = 32 * 1024;

/// A refused request as it is kept.
#[derive(Clone, PartialEq, Eq)]
pub struct RejectedRequest {
    /// Whose source it was sent to.
    pub tenant: TenantId,
    /// [`SourceId::UNKNOWN`] when no source has the id in the path.
    pub source: SourceId,
    /// When it came in.
    pub at: Timestamp,
    /// Why it was refused.
    pub reason: Rejection,
    /// What is kept of it.
    pub request: Inbound,
    /// How long its body was; of one that was too large, how long its sender said it was.
    pub body_bytes: u64,
    /// Whether some of it was left out.
    pub is_cut: bool,
}

impl RejectedRequest {
    /// What is kept of a request to this source.
    #[must_use]
    pub fn of(source: &Source, request: Inbound, reason: Rejection, at: Timestamp) -> Self {
        Self::bounded(source.tenant.clone(), source.id, request, reason, at)
    }

    /// Stands in for a request to a source that does not exist: as long, but blank. It has no owner to show it to, and yet
    /// must not be answered sooner than others.
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

    /// Whether it was sent to a source that does not exist.
    #[must_use]
    pub fn is_to_unknown_source(&self) -> bool {
        self.source == SourceId::UNKNOWN
    }

    /// What would have matched, by the secrets that the source has and had.
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
    /// What it holds is nobody's who reads a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RefusedRequest")
            .field("source", &self.source)
            .field("at", &self.at)
            .field("reason", &self.reason)
            .field("body_bytes", &self.body_bytes)
            .finish_non_exhaustive()
    }
}

/// A refused request in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRejection {
    /// Its id.
    pub id: RejectedId,
    /// The request.
    pub refused: RejectedRequest,
}

fn declared_bytes(headers: &HeaderMap) -> Option<u64> {
    let declared = headers.get(CONTENT_LENGTH)?.to_str().ok()?;
    // A stranger says so. Stores count with signed numbers.
    let declared: i64 = declared.parse().ok()?;
    u64::try_from(declared).ok()
}

fn blank_text(text: &str) -> String {
    " ".repeat(text.len())
}

#[cfg(test)]
mod tests;
