//! Signature schemes as data: one row of a table per scheme.

mod custom;
mod digest;
mod field;
mod form;
mod key;
mod pick;
mod place;
mod table;
mod template;
mod time;
mod url;
mod way;
mod words;

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

pub use custom::{CUSTOM, CustomDraft, MAX_PREFIX_BYTES, MAX_WINDOW_SECONDS};
pub use digest::{Digest, Encoding, SignedMessage};
pub use field::{At, Field};
pub use key::{KeyForm, Misfit, SchemeKey};
pub use place::{MAX_NAME_BYTES, MAX_PLACES, MAX_POINTER_BYTES};

pub use template::MAX_TEMPLATE_BYTES;
pub(crate) use time::TimeFit;
pub use time::{Time, TimeForm};
pub use url::UrlForm;
pub(crate) use url::{with_port, without_port};
pub(crate) use way::Evidence;
pub use way::{SignedParts, Way};

use crate::inbound::Inbound;
use crate::secret::SharedSecret;

/// Borrowed in rows of the table, owned in custom schemes.
pub type Text = Cow<'static, str>;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scheme {
    pub name: &'static str,
    /// One match is enough. The first way is the preferred one.
    pub ways: Vec<Way>,
    /// Where to find the event type: the first of these fields that is present.
    pub event_type: Vec<Field>,
    /// Appended to the event type after a dot, if present.
    pub event_suffix: Option<Field>,
    /// Where to find the sender's delivery id: the first of these fields that is present.
    pub delivery_id: Vec<Field>,
    pub handshake: Option<Handshake>,
}

/// How a sender verifies that a URL belongs to its owner before it sends events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handshake {
    /// A signed `url_verification`; the response repeats its `challenge`.
    Slack,
    /// A signed `endpoint.url_validation`; the response signs its `plainToken`.
    Zoom,
    /// GET with `hub.verify_token`; the response repeats `hub.challenge`.
    Meta,
    /// A signed PING for interactions or for webhook events.
    Discord,
}

/// A part of the signed message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    Text(Text),
    /// The timestamp as it appears in the request.
    Time,
    /// The id as it appears in the request.
    Id,
    Method,
    Url(UrlForm),
    Body,
    /// The fields of a form body, sorted and without duplicates: each name followed by its value.
    SortedForm,
    /// Adds nothing, but the query's `bodySHA256` must be the body's digest.
    HashedBody,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is not a known scheme; use one of {}", Scheme::names().collect::<Vec<_>>().join(", "))]
pub struct UnknownScheme;

impl Scheme {
    /// Looks up a row of the table. `custom` is not in it.
    pub fn named(name: &str) -> Result<Arc<Self>, UnknownScheme> {
        let row = table::TABLE.iter().find(|row| row.name == name);
        row.cloned().ok_or(UnknownScheme)
    }

    /// Used when the source is unknown, so that response times do not reveal which sources exist.
    #[must_use]
    pub fn stand_in() -> &'static Self {
        static BODY_ALONE: LazyLock<Scheme> = LazyLock::new(|| Scheme {
            ways: vec![Way::default()],
            ..Scheme::default()
        });
        &BODY_ALONE
    }

    /// All rows of the table, so without `custom`.
    pub fn all() -> impl Iterator<Item = &'static Arc<Self>> {
        table::TABLE.iter()
    }

    /// All names, including `custom`.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::all().map(|row| row.name).chain([CUSTOM])
    }

    /// Whether the scheme signs the called URL, so that a source needs its `public_url`.
    #[must_use]
    pub fn signs_url(&self) -> bool {
        let mut parts = self.ways.iter().flat_map(|way| &way.signed);
        parts.any(|part| matches!(part, Part::Url(_)))
    }

    /// Whether this header may contain the secret itself.
    #[must_use]
    pub fn sends_secret_in(&self, header: &str) -> bool {
        let tokens = self.ways.iter().filter(|way| way.digest == Digest::Token);
        let mut places = tokens.flat_map(|way| &way.signature);
        places.any(|field| matches!(&field.at, At::Header(name) if name == header))
    }

    /// Creates a secret from random bytes for the first way that allows it; `None` if only the sender can create one.
    #[must_use]
    pub fn draw_secret(&self, bytes: &[u8; 32]) -> Option<SharedSecret> {
        self.ways
            .iter()
            .find_map(|way| way.key.draw(way.digest, bytes))
    }

    /// Checks that at least one way of this scheme can use the secret.
    pub fn check_secret(&self, secret: &SharedSecret) -> Result<(), Misfit> {
        if self.ways.iter().any(|way| way.key(secret).is_some()) {
            return Ok(());
        }
        let mut expected: Vec<&str> = Vec::new();
        for way in &self.ways {
            let form = way.key.wanted(way.digest);
            if !expected.contains(&form) {
                expected.push(form);
            }
        }
        Err(Misfit::new(self.name, &expected))
    }
}

/// The string at this JSON pointer into the body.
pub(crate) fn word_at(inbound: &Inbound, pointer: &str) -> Option<String> {
    match pick::pick(&inbound.body, pointer)? {
        pick::Leaf::Text(text) => Some(text.into_owned()),
        pick::Leaf::Number(_) => None,
    }
}

/// The string or number at this JSON pointer into the body.
pub(crate) fn text_at(inbound: &Inbound, pointer: &str) -> Option<String> {
    match pick::pick(&inbound.body, pointer)? {
        pick::Leaf::Text(text) => Some(text.into_owned()),
        pick::Leaf::Number(text) => Some(text.to_owned()),
    }
}

pub(crate) fn query_field(query: &str, name: &str) -> Option<String> {
    form::field(query.as_bytes(), name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_an_unknown_scheme_names_the_known_ones() {
        let error = Scheme::named("gitbub").unwrap_err().to_string();
        for name in ["github", "stripe", "standard", "custom"] {
            assert!(error.contains(name), "{error}");
        }
    }

    #[test]
    fn three_schemes_sign_the_url_they_call() {
        let signing: Vec<_> = Scheme::all().filter(|scheme| scheme.signs_url()).collect();
        let names: Vec<_> = signing.iter().map(|scheme| scheme.name).collect();
        assert_eq!(names, ["twilio", "square", "hubspot"]);
    }

    #[test]
    fn only_the_header_of_a_token_contains_the_secret() {
        let gitlab = Scheme::named("gitlab").unwrap();
        assert!(gitlab.sends_secret_in("x-gitlab-token"));
        assert!(!gitlab.sends_secret_in("webhook-signature"));
        assert!(!gitlab.sends_secret_in("x-gitlab-event"));
        let github = Scheme::named("github").unwrap();
        assert!(!github.sends_secret_in("x-hub-signature-256"));
        let sent = |draft| CustomDraft::check(draft).unwrap().sends_secret_in("x-own");
        let draft = CustomDraft {
            header: "X-Own".to_owned(),
            ..CustomDraft::default()
        };
        assert!(!sent(draft.clone()));
        assert!(sent(CustomDraft {
            digest: Some("token".to_owned()),
            encoding: Some("text".to_owned()),
            ..draft
        }));
    }
}
