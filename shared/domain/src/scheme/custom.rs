//! A scheme that its user describes in the fields of the table.

use serde::{Deserialize, Serialize};

use super::place::{header_name, name_of, place, places, write_place};
use super::template::{self, TemplateError};
use super::words::Word;
use super::{At, Digest, Encoding, Field, KeyForm, Part, Scheme, Text, Time, TimeForm, Way};
use crate::invalid::Invalid;

/// The name of a scheme that its user describes.
pub const CUSTOM: &str = "custom";

const MAX_PREFIX_BYTES: usize = 32;
const MAX_WINDOW_SECONDS: u32 = 3600;
const WINDOW_SECONDS: u32 = 300;

/// What a user says of a scheme, unchecked. Places are `header:<name>`, `body:<JSON pointer>` or `form:<field>`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CustomDraft {
    /// The header that holds signatures.
    pub header: String,
    /// What stands before each of them, such as `sha256=`; at most 32 characters.
    pub prefix: Option<String>,
    /// What parts several of them: `,` (if nothing is said), `;` or a space.
    pub separator: Option<String>,
    /// `hex` (if nothing is said), `base64` or, for the digest `token`, `text`.
    pub encoding: Option<String>,
    /// `hmac-sha256` (if nothing is said), `hmac-sha1`, `hmac-sha512`, `sha256`, `ed25519`, `ecdsa-p256` or `token`.
    pub digest: Option<String>,
    /// The secret's form: `text` (if nothing is said), `base64`, `hex`, `whsec` or `whpk`.
    pub key: Option<String>,
    /// What is signed, such as `{timestamp}.{body}`; `{body}` if nothing is said.
    pub signed: Option<String>,
    /// The place of the time.
    pub timestamp: Option<String>,
    /// What stands before the time in a header that is a list, such as `t=`.
    pub timestamp_prefix: Option<String>,
    /// `seconds` (if nothing is said), `milliseconds` or `rfc3339`.
    pub timestamp_format: Option<String>,
    /// How far the time may lie from now: 1 to 3600 seconds, 300 if nothing is said.
    pub window_seconds: Option<u32>,
    /// The place of the id that is signed.
    pub id: Option<String>,
    /// The places of the event's type; at most 4.
    pub event_type: Vec<String>,
    /// The places of the sender's id of a delivery; at most 4.
    pub delivery_id: Vec<String>,
}

impl CustomDraft {
    /// Checks every field; faults are named below `custom`.
    ///
    /// # Errors
    /// All faults at once.
    pub fn check(self) -> Result<Scheme, Invalid> {
        let mut faults = Invalid::default();
        let separator = faults.take("custom.separator", separator(self.separator.as_deref()));
        let prefix = faults.take("custom.prefix", prefix(self.prefix.as_deref()));
        let name = faults.take("custom.header", header_name(&self.header));
        let digest: Option<Digest> = word(&mut faults, "custom.digest", self.digest.as_deref());
        let encoding: Option<Encoding> =
            word(&mut faults, "custom.encoding", self.encoding.as_deref());
        let key: Option<KeyForm> = word(&mut faults, "custom.key", self.key.as_deref());
        let is_token = digest == Some(Digest::Token);
        let signed = signed(&mut faults, self.signed.as_deref(), is_token);
        let time = self.time(&mut faults, separator);
        let id = faults.take("custom.id", self.id.as_deref().map(place).transpose());
        let event_type = faults.take("custom.event_type", places(&self.event_type));
        let delivery_id = faults.take("custom.delivery_id", places(&self.delivery_id));
        faults.into_result()?;
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

    fn time(&self, faults: &mut Invalid, separator: Option<char>) -> Option<Time> {
        let form: Option<TimeForm> = word(
            faults,
            "custom.timestamp_format",
            self.timestamp_format.as_deref(),
        );
        let window = self.window_seconds.unwrap_or(WINDOW_SECONDS);
        let fits = (1..=MAX_WINDOW_SECONDS).contains(&window);
        faults.require(fits, "custom.window_seconds", || {
            format!("must be 1 to {MAX_WINDOW_SECONDS}")
        });
        let before = faults.take(
            "custom.timestamp_prefix",
            prefix(self.timestamp_prefix.as_deref()),
        );
        let mut field = faults.take("custom.timestamp", place(self.timestamp.as_deref()?))?;
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
    /// What a user would say for this scheme; of a row with several ways the first.
    fn from(scheme: &Scheme) -> Self {
        let Some(way) = scheme.ways.first() else {
            return Self::default();
        };
        let (signature, time) = (way.signature.first(), way.time.as_ref());
        let at_time = time.and_then(|time| time.at.first());
        let said = |text: &Text| Some(text.to_string()).filter(|text| !text.is_empty());
        Self {
            header: signature.map(name_of).unwrap_or_default(),
            prefix: signature.and_then(|field| said(&field.prefix)),
            separator: signature
                .and_then(|field| field.separator)
                .map(String::from),
            encoding: Some(way.encoding.word().to_owned()),
            digest: Some(way.digest.word().to_owned()),
            key: Some(way.key.word().to_owned()),
            signed: Some(template::write(&way.signed)).filter(|text| !text.is_empty()),
            timestamp: at_time.map(write_place),
            timestamp_prefix: at_time.and_then(|field| said(&field.prefix)),
            timestamp_format: time.map(|time| time.form.word().to_owned()),
            window_seconds: time.and_then(|time| time.window_seconds),
            id: way.id.first().map(write_place),
            event_type: scheme.event_type.iter().map(write_place).collect(),
            delivery_id: scheme.delivery_id.iter().map(write_place).collect(),
        }
    }
}

/// Checks that the fields fit each other.
fn check_whole(way: &Way) -> Result<(), Invalid> {
    let mut faults = Invalid::default();
    let signs = |part: Part| way.signed.contains(&part);
    let in_header = |field: &Field| matches!(field.at, At::Header(_));
    let unsigned_time =
        way.time.iter().flat_map(|time| &time.at).any(in_header) && !signs(Part::Time);
    faults.require(!unsigned_time, "custom.signed", || {
        "must hold {timestamp}: a time that is not signed can be forged".to_owned()
    });
    faults.require(
        way.time.is_some() || !signs(Part::Time),
        "custom.timestamp",
        || "must be given, because {timestamp} is signed".to_owned(),
    );
    faults.require(way.id.is_empty() != signs(Part::Id), "custom.id", || {
        "must be given if {id} is signed, and only then".to_owned()
    });
    let fits = way.digest.fits(way.encoding, way.key);
    faults.require(fits, "custom.key", || {
        "must be `hex`, `base64` or `whpk` for `ed25519`, `base64` for `ecdsa-p256`; the encoding `text` and the digest `token` go together".to_owned()
    });
    faults.into_result()
}

fn signed(faults: &mut Invalid, template: Option<&str>, is_token: bool) -> Option<Vec<Part>> {
    match template {
        None if is_token => Some(Vec::new()),
        None => Some(vec![Part::Body]),
        Some(_) if is_token => {
            faults.add("custom.signed", "must not be given: a token signs nothing");
            None
        }
        Some(template) => {
            let parsed: Result<_, TemplateError> = template::parse(template);
            faults.take("custom.signed", parsed)
        }
    }
}

fn word<W: Word>(faults: &mut Invalid, field: &str, said: Option<&str>) -> Option<W> {
    faults.take(field, said.map_or_else(|| Ok(W::first()), W::read))
}

fn separator(said: Option<&str>) -> Result<char, &'static str> {
    match said {
        None | Some(",") => Ok(','),
        Some(";") => Ok(';'),
        Some(" ") => Ok(' '),
        Some(_) => Err("must be `,`, `;` or a space"),
    }
}

fn prefix(said: Option<&str>) -> Result<Text, String> {
    let text = said.unwrap_or_default();
    if text.len() <= MAX_PREFIX_BYTES && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        Ok(Text::Owned(text.to_owned()))
    } else {
        Err(format!(
            "must be at most {MAX_PREFIX_BYTES} visible ASCII characters"
        ))
    }
}
