//! A request from a source: is it genuine, and what does it say?

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
use crate::scheme::{Evidence, Request, Scheme, TimeFit, Way};
use crate::secret::SharedSecret;
use crate::source::Source;
use crate::time::Timestamp;

/// The type of an event whose sender names none.
const UNKNOWN: &str = "unknown";
/// What a body is taken for whose sender does not say it in a form that can be passed on.
const BYTES: &str = "application/octet-stream";

/// A request as it came in. Nothing about it is believed yet.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Inbound {
    /// Its method.
    pub method: Method,
    /// Its path, as received; signed URLs are made of the source's own.
    pub path: String,
    /// Its query, as received, without the question mark.
    pub query: Option<String>,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body, as received.
    pub body: Bytes,
}

impl Inbound {
    /// A POST without a query.
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
    /// Bodies, queries and the values of headers are nobody's who reads a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbound")
            .field("method", &self.method)
            .field("headers", &self.headers.keys())
            .field("body_bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

/// A request that its source has signed. Only [`verify`] makes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified<'a> {
    source: &'a Source,
    event_type: EventType,
    delivery_id: Option<String>,
    content_type: Label,
    body: Bytes,
}

/// Why a request was refused. For the operator; the sender is told the same for every reason. The later ones are
/// closer to being accepted.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, thiserror::Error,
)]
#[serde(rename_all = "snake_case")]
pub enum Rejection {
    /// There is no such source.
    #[error("no source has this id")]
    UnknownSource,
    /// Its body is larger than may be stored; nobody looked for a signature.
    #[error("the body is too large")]
    TooLarge,
    /// It carries no signature in the form of the scheme.
    #[error("no signature in the form of the scheme")]
    Unsigned,
    /// None of its signatures is one of the source's secrets'.
    #[error("no signature matches")]
    NoMatch,
    /// A signature is right, but it names no time where the scheme has one.
    #[error("the signature is right, but the time is missing or not in its form")]
    BadTime,
    /// A signature is right, but the time is too far off: a wrong clock, or a request sent again.
    #[error("the signature is right, but the time lies outside the window")]
    OutOfWindow,
}

impl Rejection {
    /// Every reason.
    pub const ALL: [Self; 6] = [
        Self::UnknownSource,
        Self::TooLarge,
        Self::Unsigned,
        Self::NoMatch,
        Self::BadTime,
        Self::OutOfWindow,
    ];

    /// How programs know it.
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

/// Checks a request against its source: every signature that it carries against every live secret, in every way that
/// the scheme knows, all evaluated and compared in constant time. Without a source the digest of the body is made as
/// well, so that no sender can tell by the time it takes.
///
/// # Errors
/// Why it is not genuine.
pub fn verify(
    inbound: Inbound,
    source: Option<&Source>,
    now: Timestamp,
) -> Result<Verified<'_>, Rejection> {
    let Some(source) = source else {
        let stand_in = SharedSecret::parse(UNKNOWN).ok();
        let request = Request {
            inbound: &inbound,
            public_url: None,
        };
        // The outcome does not matter, but the work must not be left out because of that.
        let secrets: Vec<_> = stand_in.iter().collect();
        let _ = std::hint::black_box(check(request, Scheme::stand_in(), &secrets, now));
        return Err(Rejection::UnknownSource);
    };
    let secrets: Vec<_> = source.secrets.live(now).collect();
    let way = is_genuine(&inbound, source, &secrets, now)?;
    let delivery_id = delivery_id(&inbound, source, way);
    Ok(read(inbound, source, delivery_id))
}

/// As [`verify`], with these secrets of the source: the way in which it is signed.
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

fn request<'a>(inbound: &'a Inbound, source: &'a Source) -> Request<'a> {
    Request {
        inbound,
        public_url: source.settings.public_url.as_ref().map(url::Url::as_str),
    }
}

fn check<'a>(
    request: Request<'_>,
    scheme: &'a Scheme,
    secrets: &[&SharedSecret],
    now: Timestamp,
) -> Result<&'a Way, Rejection> {
    let mut genuine = None;
    let mut closest = Rejection::Unsigned;
    // Every way is looked at, also when one has been found to fit.
    for way in &scheme.ways {
        match verdict(way.evidence(request, secrets, now)) {
            Ok(()) => genuine = genuine.or(Some(way)),
            Err(reason) => closest = closest.max(reason),
        }
    }
    genuine.ok_or(closest)
}

/// What tells a delivery from others of its source: the sender's id of it. Where there is none but a time is signed, what
/// was signed: a request that is sent again as it is has the same, and one that is sent anew has another time.
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

/// The type that a sender named, with `_` for white space. A suffix that makes no type of it is left out.
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
    let given = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    given
        .and_then(|text| text.parse().ok())
        .unwrap_or_else(|| constant(BYTES))
}

#[expect(clippy::expect_used, reason = "constants, read by every test below")]
fn constant<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> T {
    text.parse().expect("a constant of this type")
}

impl<'a> Verified<'a> {
    /// Who sent it.
    #[must_use]
    pub const fn source(&self) -> &'a Source {
        self.source
    }

    /// What happened.
    #[must_use]
    pub const fn event_type(&self) -> &EventType {
        &self.event_type
    }

    /// The id of the event, when something tells the delivery from others: the same delivery always has the same.
    #[must_use]
    pub fn keyed_id(&self) -> Option<EventId> {
        let key = self.delivery_id.as_deref()?;
        let scope = self.source.id.to_string();
        Some(EventId::keyed(&self.source.tenant, &scope, key))
    }

    /// The event to be stored.
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
