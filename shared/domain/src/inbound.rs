//! Requests from sources: verification, and reading the event from them.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use data_encoding::HEXLOWER;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, Method};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::event::{Event, Label, Origin};
use crate::ids::EventId;
use crate::pattern::EventType;
use crate::scheme::{Evidence, Scheme, SignedParts, TimeFit, Way};
use crate::secret::SharedSecret;
use crate::source::Source;
use crate::time::Timestamp;

/// The type of an event whose sender does not specify one.
const UNKNOWN: &str = "unknown";
/// The content type if the sender's is missing or cannot be forwarded.
const BYTES: &str = "application/octet-stream";

/// A request as received. Nothing about it is verified yet.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Inbound {
    pub method: Method,
    /// As received; signed URLs are built from the source's public URL instead.
    pub path: String,
    /// As received, without the question mark.
    pub query: Option<String>,
    pub headers: HeaderMap,
    /// As received.
    pub body: Bytes,
}

impl Inbound {
    #[must_use]
    pub fn post(headers: HeaderMap, body: Bytes) -> Self {
        Self {
            method: Method::POST,
            headers,
            body,
            ..Self::default()
        }
    }
}

impl fmt::Debug for Inbound {
    /// Omits the body, the query and header values: they must not appear in logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `Keys` also shows the values.
        let names: Vec<_> = self.headers.keys().collect();
        f.debug_struct("Inbound")
            .field("method", &self.method)
            .field("headers", &names)
            .field("body_bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

/// A request that its source has signed. Only [`verify`] creates one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified<'a> {
    source: &'a Source,
    event_type: EventType,
    delivery_id: Option<String>,
    content_type: Label,
    body: Bytes,
}

/// Why a request was rejected. For the operator only; the sender gets the same response for every reason. Ordered from
/// furthest from being accepted to closest.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, thiserror::Error,
)]
#[serde(rename_all = "snake_case")]
pub enum Rejection {
    #[error("no source has this id")]
    UnknownSource,
    /// The body is larger than may be stored; its signature was not checked.
    #[error("the body is too large")]
    TooLarge,
    #[error("no signature in the scheme's format")]
    Unsigned,
    /// None of its signatures was made with one of the source's secrets.
    #[error("no signature matches")]
    NoMatch,
    #[error("the signature is valid, but the timestamp is missing or malformed")]
    BadTime,
    /// A wrong clock or a replayed request.
    #[error("the signature is valid, but the timestamp is outside the allowed window")]
    OutOfWindow,
}

impl Rejection {
    pub const ALL: [Self; 6] = [
        Self::UnknownSource,
        Self::TooLarge,
        Self::Unsigned,
        Self::NoMatch,
        Self::BadTime,
        Self::OutOfWindow,
    ];

    /// The stable code used in the API.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::UnknownSource => "unknown_source",
            Self::TooLarge => "too_large",
            Self::Unsigned => "unsigned",
            Self::NoMatch => "no_match",
            Self::BadTime => "bad_time",
            Self::OutOfWindow => "out_of_window",
        }
    }
}

/// Checks a request against its source: every signature in it against every live secret, in every way of the scheme.
/// All are evaluated, and compared in constant time. Without a source the body is still digested, so that response
/// times do not reveal which sources exist.
pub fn verify(
    inbound: Inbound,
    source: Option<&Source>,
    now: Timestamp,
) -> Result<Verified<'_>, Rejection> {
    let Some(source) = source else {
        let stand_in = SharedSecret::parse(UNKNOWN).ok();
        let request = SignedParts {
            inbound: &inbound,
            public_url: None,
        };
        // The result is not needed, but the optimiser must not skip the work.
        let secrets: Vec<_> = stand_in.iter().collect();
        let _ = std::hint::black_box(check(request, Scheme::stand_in(), &secrets, now));
        return Err(Rejection::UnknownSource);
    };
    let secrets: Vec<_> = source.secrets.live(now).collect();
    let way = is_genuine(&inbound, source, &secrets, now)?;
    let delivery_id = delivery_id(&inbound, source, way);
    Ok(read(inbound, source, delivery_id))
}

/// As [`verify`], with only these secrets of the source. Returns the way in which the request is signed.
pub(crate) fn is_genuine<'a>(
    inbound: &Inbound,
    source: &'a Source,
    secrets: &[&SharedSecret],
    now: Timestamp,
) -> Result<&'a Way, Rejection> {
    check(
        request(inbound, source),
        &source.settings.scheme,
        secrets,
        now,
    )
}

fn request<'a>(inbound: &'a Inbound, source: &'a Source) -> SignedParts<'a> {
    SignedParts {
        inbound,
        public_url: source.settings.public_url.as_ref().map(url::Url::as_str),
    }
}

fn check<'a>(
    request: SignedParts<'_>,
    scheme: &'a Scheme,
    secrets: &[&SharedSecret],
    now: Timestamp,
) -> Result<&'a Way, Rejection> {
    let mut genuine = None;
    let mut closest = Rejection::Unsigned;
    // Checks every way even after one has matched.
    for way in &scheme.ways {
        match verdict(way.evidence(request, secrets, now)) {
            Ok(()) => genuine = genuine.or(Some(way)),
            Err(reason) => closest = closest.max(reason),
        }
    }
    genuine.ok_or(closest)
}

/// Identifies a delivery within its source: the sender's id or, if there is none but a time is signed, a digest of the
/// signed content. A replayed request has the same digest; one that the sender signs again has another time.
fn delivery_id(inbound: &Inbound, source: &Source, way: &Way) -> Option<String> {
    let mut ids = source.settings.scheme.delivery_id.iter();
    let named = ids.find_map(|at| at.text(inbound)).map(Cow::into_owned);
    named.or_else(|| {
        way.time.as_ref()?;
        let (message, _) = way.message(request(inbound, source));
        let digest = message.iter().fold(Sha256::new(), Sha256::chain_update);
        Some(format!("signed:{}", HEXLOWER.encode(&digest.finalize())))
    })
}

const fn verdict(evidence: Evidence) -> Result<(), Rejection> {
    match evidence {
        Evidence {
            is_signed: false, ..
        } => Err(Rejection::Unsigned),
        Evidence {
            is_right: false, ..
        } => Err(Rejection::NoMatch),
        Evidence { time, .. } => match time {
            TimeFit::Fits => Ok(()),
            TimeFit::Malformed => Err(Rejection::BadTime),
            TimeFit::Off(_) => Err(Rejection::OutOfWindow),
        },
    }
}

fn read(inbound: Inbound, source: &Source, delivery_id: Option<String>) -> Verified<'_> {
    let scheme = &source.settings.scheme;
    let named = scheme.event_type.iter().find_map(|at| at.word(&inbound));
    let suffix = scheme
        .event_suffix
        .as_ref()
        .and_then(|at| at.word(&inbound));
    let event_type = event_type(named.as_deref(), suffix.as_deref());
    let content_type = content_type(&inbound.headers);
    Verified {
        source,
        event_type,
        delivery_id,
        content_type,
        body: inbound.body,
    }
}

/// The sender's event type, with `_` for whitespace. A suffix that would make the type invalid is dropped.
fn event_type(named: Option<&str>, suffix: Option<&str>) -> EventType {
    let fit = |text: &str| text.trim().replace(char::is_whitespace, "_");
    let fitted: Option<EventType> = named.and_then(|text| {
        let plain = fit(text);
        let whole = suffix.and_then(|suffix| format!("{plain}.{}", fit(suffix)).parse().ok());
        whole.or_else(|| plain.parse().ok())
    });
    fitted.unwrap_or_else(|| constant(UNKNOWN))
}

fn content_type(headers: &HeaderMap) -> Label {
    let header = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    header
        .and_then(|text| text.parse().ok())
        .unwrap_or_else(|| constant(BYTES))
}

#[expect(clippy::expect_used, reason = "constants, parsed by the tests")]
fn constant<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> T {
    text.parse().expect("a constant of this type")
}

impl<'a> Verified<'a> {
    #[must_use]
    pub const fn source(&self) -> &'a Source {
        self.source
    }

    #[must_use]
    pub const fn event_type(&self) -> &EventType {
        &self.event_type
    }

    /// The event id derived from the delivery id, if there is one: repeats of a delivery have the same event id.
    #[must_use]
    pub fn keyed_id(&self) -> Option<EventId> {
        let key = self.delivery_id.as_deref()?;
        let scope = self.source.id.to_string();
        Some(EventId::keyed(&self.source.tenant, &scope, key))
    }

    #[must_use]
    pub fn into_event(self, id: EventId, now: Timestamp) -> Event {
        Event {
            id,
            tenant: self.source.tenant.clone(),
            event_type: self.event_type,
            session_id: None,
            content_type: self.content_type,
            body: self.body,
            origin: Origin::Source(self.source.id),
            created_at: now,
        }
    }
}

#[cfg(test)]
mod tests;
