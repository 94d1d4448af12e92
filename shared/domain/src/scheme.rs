//! Signature schemes as data: how a sender proves that a request is its own, one row of the table for each.

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

pub use custom::{CUSTOM, CustomDraft};
pub(crate) use digest::Message;
pub use digest::{Digest, Encoding};
pub use field::{At, Field};
pub use key::{KeyForm, Misfit};

pub(crate) use time::TimeFit;
pub use time::{Time, TimeForm};
pub use url::UrlForm;
pub(crate) use url::{with_port, without_port};
pub use way::Way;
pub(crate) use way::{Evidence, Request};

use crate::inbound::Inbound;
use crate::secret::SharedSecret;

/// A text of the table, or of a user's own row.
pub type Text = Cow<'static, str>;

/// One row of the table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scheme {
    /// What a source calls it.
    pub name: &'static str,
    /// The ways of signing that it knows; one that fits is enough. The first is the one that is preferred.
    pub ways: Vec<Way>,
    /// Where the event's type stands: the first place that has one.
    pub event_type: Vec<Field>,
    /// What follows the type after a dot, where there is something.
    pub event_suffix: Option<Field>,
    /// Where the sender's id of the delivery stands: the first place that has one.
    pub delivery_id: Vec<Field>,
    /// What the sender asks before it sends events.
    pub handshake: Option<Handshake>,
}

/// What a sender asks, to see that an address is its owner's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handshake {
    /// A signed `url_verification`, whose `challenge` is sent back.
    Slack,
    /// A signed `endpoint.url_validation`, whose `plainToken` is signed.
    Zoom,
    /// GET with `hub.verify_token`; `hub.challenge` is sent back.
    Meta,
    /// A signed PING, of interactions or of events.
    Discord,
}

/// A part of what is signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// This text.
    Text(Text),
    /// The time that the request names, as written.
    Time,
    /// The id that the request names.
    Id,
    /// The request's method.
    Method,
    /// The URL that was called, in this form.
    Url(UrlForm),
    /// The body as received.
    Body,
    /// The fields of a form body, sorted and each once: name and value in a row.
    SortedForm,
    /// Nothing, but the query's `bodySHA256` must be the body's digest.
    HashedBody,
}

/// A text that names no scheme.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is not a known scheme; expected one of {}", Scheme::names().collect::<Vec<_>>().join(", "))]
pub struct UnknownScheme;

impl Scheme {
    /// The row of this name.
    ///
    /// # Errors
    /// When there is none. `custom` has none: its row is what its owner says.
    pub fn named(name: &str) -> Result<Arc<Self>, UnknownScheme> {
        let row = table::TABLE.iter().find(|row| row.name == name);
        row.cloned().ok_or(UnknownScheme)
    }

    /// The scheme that stands in for one that is not known, so that no answer tells by its time which sources exist.
    #[must_use]
    pub fn stand_in() -> &'static Self {
        static BODY_ALONE: LazyLock<Scheme> = LazyLock::new(|| Scheme {
            ways: vec![Way::default()],
            ..Scheme::default()
        });
        &BODY_ALONE
    }

    /// The rows of the table.
    pub fn all() -> impl Iterator<Item = &'static Arc<Self>> {
        table::TABLE.iter()
    }

    /// The names of all, `custom` included.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::all().map(|row| row.name).chain([CUSTOM])
    }

    /// Whether it signs the URL that was called, so that a source must know it.
    #[must_use]
    pub fn signs_url(&self) -> bool {
        let mut parts = self.ways.iter().flat_map(|way| &way.signed);
        parts.any(|part| matches!(part, Part::Url(_)))
    }

    /// Whether a header of this name may hold the secret itself.
    #[must_use]
    pub fn sends_secret_in(&self, header: &str) -> bool {
        let tokens = self.ways.iter().filter(|way| way.digest == Digest::Token);
        let mut places = tokens.flat_map(|way| &way.signature);
        places.any(|field| matches!(&field.at, At::Header(name) if name == header))
    }

    /// A secret made of these bytes, as its preferred way of signing takes it; none when only the sender can make one.
    #[must_use]
    pub fn draw_secret(&self, bytes: &[u8; 32]) -> Option<SharedSecret> {
        self.ways
            .iter()
            .find_map(|way| way.key.draw(way.digest, bytes))
    }

    /// Checks that a secret is one that some way of this scheme can use.
    ///
    /// # Errors
    /// What it must be.
    pub fn check_secret(&self, secret: &SharedSecret) -> Result<(), Misfit> {
        if self.ways.iter().any(|way| way.key(secret).is_some()) {
            return Ok(());
        }
        let mut wanted: Vec<&str> = Vec::new();
        for way in &self.ways {
            let form = way.key.wanted(way.digest);
            if !wanted.contains(&form) {
                wanted.push(form);
            }
        }
        Err(Misfit::new(self.name, &wanted))
    }
}

/// The string at this pointer of a request's body.
pub(crate) fn word_at(inbound: &Inbound, pointer: &str) -> Option<String> {
    match pick::pick(&inbound.body, pointer)? {
        pick::Leaf::Text(text) => Some(text.into_owned()),
        pick::Leaf::Number(_) => None,
    }
}

/// The string or number at this pointer of a request's body.
pub(crate) fn text_at(inbound: &Inbound, pointer: &str) -> Option<String> {
    match pick::pick(&inbound.body, pointer)? {
        pick::Leaf::Text(text) => Some(text.into_owned()),
        pick::Leaf::Number(text) => Some(text.to_owned()),
    }
}

/// The field of a query.
pub(crate) fn query_field(query: &str, name: &str) -> Option<String> {
    form::field(query.as_bytes(), name)
}
