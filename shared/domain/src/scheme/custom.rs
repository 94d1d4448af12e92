//! Custom schemes, described by users in the table's terms.

use serde::{Deserialize, Serialize};

use super::place::{header_name, name_of, place, places, write_place};
use super::template::{self, TemplateError};
use super::words::Word;
use super::{At, Digest, Encoding, Field, KeyForm, Part, Scheme, Text, Time, TimeForm, Way};
use crate::invalid::Invalid;

pub const CUSTOM: &str = "custom";

pub const MAX_PREFIX_BYTES: usize = 32;
pub const MAX_WINDOW_SECONDS: u32 = 3600;
const WINDOW_SECONDS: u32 = 300;

/// A custom scheme as submitted, unchecked. Places are `header:<name>`, `body:<JSON pointer>` or `form:<field>`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CustomDraft {
    /// The header that contains signatures.
    pub header: String,
    /// Precedes each signature, such as `sha256=`; at most 32 characters.
    pub prefix: Option<String>,
    /// Separates several signatures: `,` (default), `;` or a space.
    pub separator: Option<String>,
    /// `hex` (default), `base64` or, for the digest `token`, `text`.
    pub encoding: Option<String>,
    /// `hmac-sha256` (default), `hmac-sha1`, `hmac-sha512`, `sha256`, `ed25519`, `ecdsa-p256` or `token`.
    pub digest: Option<String>,
    /// The secret's format: `text` (default), `base64`, `hex`, `whsec` or `whpk`.
    pub key: Option<String>,
    /// What is signed, such as `{timestamp}.{body}`; `{body}` by default.
    pub signed: Option<String>,
    /// The place of the timestamp.
    pub timestamp: Option<String>,
    /// Precedes the timestamp in a header that is a list, such as `t=`.
    pub timestamp_prefix: Option<String>,
    /// `seconds` (default), `milliseconds` or `rfc3339`.
    pub timestamp_format: Option<String>,
    /// How far the timestamp may be from now: 1 to 3600 seconds, 300 by default.
    pub window_seconds: Option<u32>,
    /// The place of the signed id.
    pub id: Option<String>,
    /// The places of the event type; at most 4.
    pub event_type: Vec<String>,
    /// The places of the sender's delivery id; at most 4.
    pub delivery_id: Vec<String>,
}

impl CustomDraft {
    /// # Errors
    /// All errors at once, with their fields below `custom`.
    pub fn check(self) -> Result<Scheme, Invalid> {
        let mut errors = Invalid::default();
        let separator = errors.take("custom.separator", separator(self.separator.as_deref()));
        let prefix = errors.take("custom.prefix", prefix(self.prefix.as_deref()));
        let name = errors.take("custom.header", header_name(&self.header));
        let digest: Option<Digest> = word(&mut errors, "custom.digest", self.digest.as_deref());
        let encoding: Option<Encoding> =
            word(&mut errors, "custom.encoding", self.encoding.as_deref());
        let key: Option<KeyForm> = word(&mut errors, "custom.key", self.key.as_deref());
        let is_token = digest == Some(Digest::Token);
        let signed = signed(&mut errors, self.signed.as_deref(), is_token);
        let time = self.time(&mut errors, separator);
        let id = errors.take("custom.id", self.id.as_deref().map(place).transpose());
        let event_type = errors.take("custom.event_type", places(&self.event_type));
        let delivery_id = errors.take("custom.delivery_id", places(&self.delivery_id));
        errors.into_result()?;
        let way = Way {
            signature: vec![Field {
                at: At::Header(name.unwrap_or_default()),
                separator: if is_token { None } else { separator },
                prefix: prefix.unwrap_or_default(),
            }],
            encoding: encoding.unwrap_or_default(),
            digest: digest.unwrap_or_default(),
            key: key.unwrap_or_default(),
            signed: signed.unwrap_or_default(),
            time,
            id: id.flatten().into_iter().collect(),
        };
        check_whole(&way)?;
        Ok(Scheme {
            name: CUSTOM,
            ways: vec![way],
            event_type: event_type.unwrap_or_default(),
            delivery_id: delivery_id.unwrap_or_default(),
            ..Scheme::default()
        })
    }

    fn time(&self, errors: &mut Invalid, separator: Option<char>) -> Option<Time> {
        let form: Option<TimeForm> = word(
            errors,
            "custom.timestamp_format",
            self.timestamp_format.as_deref(),
        );
        let window = self.window_seconds.unwrap_or(WINDOW_SECONDS);
        let fits = (1..=MAX_WINDOW_SECONDS).contains(&window);
        errors.require(fits, "custom.window_seconds", || {
            format!("must be 1 to {MAX_WINDOW_SECONDS} seconds")
        });
        let before = errors.take(
            "custom.timestamp_prefix",
            prefix(self.timestamp_prefix.as_deref()),
        );
        let mut field = errors.take("custom.timestamp", place(self.timestamp.as_deref()?))?;
        if let Some(before) = before.filter(|before| !before.is_empty()) {
            field.prefix = before;
            field.separator = separator;
        }
        Some(Time {
            at: vec![field],
            form: form?,
            window_seconds: Some(window),
        })
    }
}

impl From<&Scheme> for CustomDraft {
    /// Describes the scheme's first way.
    fn from(scheme: &Scheme) -> Self {
        let Some(way) = scheme.ways.first() else {
            return Self::default();
        };
        let (signature, time) = (way.signature.first(), way.time.as_ref());
        let at_time = time.and_then(|time| time.at.first());
        let non_empty = |text: &Text| Some(text.to_string()).filter(|text| !text.is_empty());
        Self {
            header: signature.map(name_of).unwrap_or_default(),
            prefix: signature.and_then(|field| non_empty(&field.prefix)),
            // A token is never a list, but its timestamp may be in one.
            separator: signature
                .and_then(|field| field.separator)
                .or_else(|| at_time.and_then(|field| field.separator))
                .map(String::from),
            encoding: Some(way.encoding.word().to_owned()),
            digest: Some(way.digest.word().to_owned()),
            key: Some(way.key.word().to_owned()),
            signed: Some(template::write(&way.signed)).filter(|text| !text.is_empty()),
            timestamp: at_time.map(write_place),
            timestamp_prefix: at_time.and_then(|field| non_empty(&field.prefix)),
            timestamp_format: time.map(|time| time.form.word().to_owned()),
            window_seconds: time.and_then(|time| time.window_seconds),
            id: way.id.first().map(write_place),
            event_type: scheme.event_type.iter().map(write_place).collect(),
            delivery_id: scheme.delivery_id.iter().map(write_place).collect(),
        }
    }
}

/// Checks that the fields are compatible.
fn check_whole(way: &Way) -> Result<(), Invalid> {
    let mut errors = Invalid::default();
    let signs = |part: Part| way.signed.contains(&part);
    let in_header = |field: &Field| matches!(field.at, At::Header(_));
    let unsigned_time =
        way.time.iter().flat_map(|time| &time.at).any(in_header) && !signs(Part::Time);
    errors.require(!unsigned_time, "custom.signed", || {
        "must contain {timestamp}, because an unsigned timestamp can be forged".to_owned()
    });
    errors.require(
        way.time.is_some() || !signs(Part::Time),
        "custom.timestamp",
        || "must be set, because {timestamp} is signed".to_owned(),
    );
    errors.require(way.id.is_empty() != signs(Part::Id), "custom.id", || {
        "must be set if {id} is signed, and only then".to_owned()
    });
    let fits = way.digest.fits(way.encoding, way.key);
    errors.require(fits, "custom.key", || {
        "must be `hex`, `base64` or `whpk` for `ed25519`, and `base64` for `ecdsa-p256`; use the encoding `text` with the digest `token`, and only with it".to_owned()
    });
    errors.into_result()
}

fn signed(errors: &mut Invalid, template: Option<&str>, is_token: bool) -> Option<Vec<Part>> {
    match template {
        None if is_token => Some(Vec::new()),
        None => Some(vec![Part::Body]),
        Some(_) if is_token => {
            errors.add(
                "custom.signed",
                "must not be set, because a token does not sign anything",
            );
            None
        }
        Some(template) => {
            let parsed: Result<_, TemplateError> = template::parse(template);
            errors.take("custom.signed", parsed)
        }
    }
}

fn word<W: Word>(errors: &mut Invalid, field: &str, text: Option<&str>) -> Option<W> {
    errors.take(field, text.map_or_else(|| Ok(W::default()), W::read))
}

fn separator(text: Option<&str>) -> Result<char, &'static str> {
    match text {
        None | Some(",") => Ok(','),
        Some(";") => Ok(';'),
        Some(" ") => Ok(' '),
        Some(_) => Err("must be `,`, `;` or a space"),
    }
}

fn prefix(text: Option<&str>) -> Result<Text, String> {
    let text = text.unwrap_or_default();
    if text.len() <= MAX_PREFIX_BYTES && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        Ok(Text::Owned(text.to_owned()))
    } else {
        Err(format!(
            "must be at most {MAX_PREFIX_BYTES} visible ASCII characters"
        ))
    }
}
