//! Signed sample requests of every inbound scheme, as the provider would send them: for `postrider trigger` and for tests.
//!
//! They are not part of the domain because no decision needs them.

mod events;
mod keys;

use bytes::Bytes;
use data_encoding::HEXLOWER;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

pub use events::{SampleEvent, events};
pub use keys::{SampleKeys, keys, keys_for};

use postrider_domain::inbound::Inbound;
use postrider_domain::scheme::{At, Field, Part, Scheme, SignedParts, Way};
use postrider_domain::time::Timestamp;

/// A request before it is signed.
#[derive(Clone, Copy, Debug)]
pub struct Unsigned<'a> {
    /// The URL that will be called, without query.
    pub url: &'a str,
    /// The query.
    pub query: Option<&'a str>,
    /// The id of the delivery.
    pub id: &'a str,
    /// Headers that the provider sends in addition to the signature headers.
    pub headers: &'a [(&'static str, &'a str)],
    pub content_type: &'a str,
    /// The body. Values that the scheme expects in it, such as an id or a time, are already set.
    pub body: &'a [u8],
}

/// Signs a request in the first way of the scheme that can use these keys; `None` if there is none, or if the scheme
/// cannot sign this request.
#[must_use]
pub fn sign(
    scheme: &Scheme,
    keys: &SampleKeys,
    unsigned: Unsigned<'_>,
    now: Timestamp,
) -> Option<Inbound> {
    let mut ways = scheme.ways.iter();
    ways.find_map(|way| sign_in(way, scheme, keys, unsigned, now))
}

/// As [`sign`], in this way of the scheme.
#[must_use]
pub fn sign_in(
    way: &Way,
    scheme: &Scheme,
    keys: &SampleKeys,
    unsigned: Unsigned<'_>,
    now: Timestamp,
) -> Option<Inbound> {
    let mut inbound = begin(unsigned);
    if let Some(field) = scheme.delivery_id.first() {
        put(&mut inbound, field, unsigned.id);
    }
    if let Some(field) = way.id.first() {
        put(&mut inbound, field, unsigned.id);
    }
    if let Some(time) = &way.time {
        put(&mut inbound, time.at.first()?, &time.form.write(now));
    }
    if way.signed.contains(&Part::HashedBody) {
        let hash = HEXLOWER.encode(&Sha256::digest(&inbound.body));
        let before = inbound
            .query
            .map(|query| format!("{query}&"))
            .unwrap_or_default();
        inbound.query = Some(format!("{before}bodySHA256={hash}"));
    }
    let request = SignedParts {
        inbound: &inbound,
        public_url: Some(unsigned.url),
    };
    let (message, is_whole) = way.message(request);
    let signature = keys.sign(way, &message).filter(|_| is_whole.into())?;
    put(
        &mut inbound,
        way.signature.first()?,
        &way.encoding.encode(&signature),
    );
    Some(inbound)
}

fn begin(unsigned: Unsigned<'_>) -> Inbound {
    let named = unsigned.headers.iter().copied();
    let named = named.chain([(CONTENT_TYPE.as_str(), unsigned.content_type)]);
    let headers: HeaderMap = named
        .filter_map(|(name, value)| {
            Some((
                HeaderName::try_from(name).ok()?,
                HeaderValue::from_str(value).ok()?,
            ))
        })
        .collect();
    Inbound {
        method: Method::POST,
        path: String::new(),
        query: unsigned.query.map(str::to_owned),
        headers,
        body: Bytes::copy_from_slice(unsigned.body),
    }
}

/// Writes a text where a scheme looks for it. In a header that is a list, it is appended.
fn put(inbound: &mut Inbound, field: &Field, text: &str) {
    match &field.at {
        At::Header(name) => put_header(inbound, name, field, text),
        At::Numbered(name) => put_header(inbound, &format!("{name}-1"), field, text),
        At::Body(pointer) => put_body(inbound, pointer, text),
        At::Form(_) => {}
    }
}

fn put_header(inbound: &mut Inbound, name: &str, field: &Field, text: &str) {
    let mut value = format!("{}{text}", field.prefix);
    let before = inbound
        .headers
        .get(name)
        .and_then(|value| value.to_str().ok());
    if let (Some(before), Some(separator)) = (before, field.separator) {
        value = format!("{before}{separator}{value}");
    }
    let header = HeaderName::try_from(name).ok();
    if let (Some(name), Ok(value)) = (header, HeaderValue::from_str(&value)) {
        inbound.headers.insert(name, value);
    }
}

/// Sets a string or number that the body already contains; a number stays a number.
fn put_body(inbound: &mut Inbound, pointer: &str, text: &str) {
    let Ok(mut body) = serde_json::from_slice::<Value>(&inbound.body) else {
        return;
    };
    let Some(place) = body.pointer_mut(pointer) else {
        return;
    };
    *place = match text.parse::<u64>() {
        Ok(number) if place.is_number() => Value::from(number),
        Ok(_) | Err(_) => Value::from(text),
    };
    inbound.body = Bytes::from(body.to_string());
}
