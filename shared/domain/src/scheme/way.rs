//! One way of signing, and what a request shows of it.

use std::borrow::Cow;

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};
use subtle::{Choice, ConstantTimeEq};

use super::digest::Message;
use super::key::Key;
use super::pick::is_json;
use super::time::TimeFit;
use super::{Digest, Encoding, Field, KeyForm, Part, Time, form};
use crate::inbound::Inbound;
use crate::secret::SharedSecret;
use crate::signature::MAX_SIGNATURES;
use crate::time::Timestamp;

/// The field of a query in which Twilio names the digest of a body that is no form.
const BODY_HASH: &str = "bodySHA256";

/// One way of signing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    /// Where signatures may stand; those of all places count.
    pub signature: Vec<Field>,
    /// How one is written.
    pub encoding: Encoding,
    /// What it is made by.
    pub digest: Digest,
    /// What of the secret it is keyed with.
    pub key: KeyForm,
    /// What it is made of.
    pub signed: Vec<Part>,
    /// When it was made.
    pub time: Option<Time>,
    /// Where the id stands that is signed: the first place that has one.
    pub id: Vec<Field>,
}

impl Default for Way {
    /// HMAC-SHA256 over the body, in hex, keyed with the secret's text.
    fn default() -> Self {
        Self {
            signature: Vec::new(),
            encoding: Encoding::default(),
            digest: Digest::default(),
            key: KeyForm::default(),
            signed: vec![Part::Body],
            time: None,
            id: Vec::new(),
        }
    }
}

/// A request, and the URL at which its sender believes to have called.
#[derive(Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) inbound: &'a Inbound,
    pub(crate) public_url: Option<&'a str>,
}

/// What a request shows of one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Evidence {
    /// Whether it carries a signature in the way's form.
    pub(crate) is_signed: bool,
    /// Whether one of them is right.
    pub(crate) is_right: bool,
    /// What its time says.
    pub(crate) time: TimeFit,
}

impl Way {
    /// Looks at a request: every signature in it against every secret, all in constant time.
    pub(crate) fn evidence(
        &self,
        request: Request<'_>,
        secrets: &[&SharedSecret],
        now: Timestamp,
    ) -> Evidence {
        let (message, is_whole) = self.message(request);
        let given = self.given(request.inbound);
        let mut is_right = Choice::from(0);
        for secret in secrets {
            if let Some(key) = self.key(secret) {
                is_right |= self.digest.matches(key.as_ref(), &message, &given);
            }
        }
        Evidence {
            is_signed: !given.is_empty(),
            is_right: bool::from(is_right & is_whole),
            time: self.time_fit(request.inbound, now),
        }
    }

    /// The key that a secret gives, if it is one for this way.
    pub(crate) fn key<'s>(&self, secret: &'s SharedSecret) -> Option<Key<'s>> {
        let key = self.key.decode(secret)?;
        self.digest.takes(key.as_ref()).then_some(key)
    }

    /// The signatures that a request carries, decoded; what is not in the form is none.
    pub(crate) fn given(&self, inbound: &Inbound) -> Vec<Vec<u8>> {
        let texts = self.signature.iter().flat_map(|field| field.texts(inbound));
        let given = texts.filter(|text| !text.is_empty());
        let given = given.filter_map(|text| self.encoding.decode(&text));
        given.take(MAX_SIGNATURES).collect()
    }

    /// What is signed, and whether all of it is there and fit to be believed.
    pub(crate) fn message<'a>(&'a self, request: Request<'a>) -> (Message<'a>, Choice) {
        let mut message = Vec::with_capacity(self.signed.len());
        let mut is_whole = Choice::from(u8::from(self.is_bound(request.inbound)));
        for (n, part) in self.signed.iter().enumerate() {
            let next = self.signed.get(n + 1);
            match self.part(part, next, request) {
                Some(bytes) => message.push(bytes),
                None => is_whole = Choice::from(0),
            }
        }
        (message, is_whole)
    }

    fn part<'a>(
        &'a self,
        part: &'a Part,
        next: Option<&Part>,
        request: Request<'a>,
    ) -> Option<Cow<'a, [u8]>> {
        let Request {
            inbound,
            public_url,
        } = request;
        Some(match part {
            Part::Text(text) => Cow::Borrowed(text.as_bytes()),
            Part::Time => bytes(self.time_text(inbound)?),
            Part::Id => {
                let id = first(&self.id, inbound)?;
                // An id with the mark that follows it could be read in two ways, one of them forged.
                let is_plain =
                    !matches!(next, Some(Part::Text(mark)) if id.contains(mark.as_ref()));
                is_plain.then(|| bytes(id))?
            }
            Part::Method => Cow::Borrowed(inbound.method.as_str().as_bytes()),
            Part::Url(form) => {
                let url = form.of(public_url?, inbound.query.as_deref())?;
                Cow::Owned(url.into_bytes())
            }
            Part::Body => Cow::Borrowed(&inbound.body),
            Part::SortedForm => Cow::Owned(sorted_form(inbound)?),
            Part::HashedBody => {
                let named = form::field(inbound.query.as_deref()?.as_bytes(), BODY_HASH)?;
                let hash = HEXLOWER.encode(&Sha256::digest(&inbound.body));
                let is_it = hash.as_bytes().ct_eq(named.as_bytes());
                bool::from(is_it).then_some(Cow::Borrowed(&[][..]))?
            }
        })
    }

    /// Whether the body is one that a digest of this kind can vouch for.
    fn is_bound(&self, inbound: &Inbound) -> bool {
        let mut pairs = self.signed.windows(2);
        let follows_url = pairs.any(|pair| matches!(pair, [Part::Url(_), Part::Body]));
        let is_extensible = self.digest == Digest::Sha256;
        (!follows_url || has_border(inbound))
            && (!is_extensible || inbound.body.is_empty() || is_json(&inbound.body))
    }

    fn time_text<'a>(&'a self, inbound: &'a Inbound) -> Option<Cow<'a, str>> {
        first(&self.time.as_ref()?.at, inbound)
    }

    fn time_fit(&self, inbound: &Inbound, now: Timestamp) -> TimeFit {
        let Some(time) = &self.time else {
            return TimeFit::Fits;
        };
        let text = self.time_text(inbound);
        text.map_or(TimeFit::Malformed, |text| time.fit(&text, now))
    }
}

fn first<'a>(fields: &'a [Field], inbound: &'a Inbound) -> Option<Cow<'a, str>> {
    fields.iter().find_map(|field| field.text(inbound))
}

fn bytes(text: Cow<'_, str>) -> Cow<'_, [u8]> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}

/// Whether it is clear where the query ends and the body begins, with no mark between them: what could be cut in
/// another place would be signed, too. No query holds a brace, so that JSON has its beginning and its end; without a
/// query anything has one that does not look like a query.
fn has_border(inbound: &Inbound) -> bool {
    match (inbound.query.as_deref(), inbound.body.first()) {
        (None, first) => first != Some(&b'?'),
        (Some(query), None) => !query.contains('['),
        (Some(_), Some(first)) => b"{[".contains(first) && is_json(&inbound.body),
    }
}

/// A body that is no form is not covered by its fields; one whose digest the query names is not a form.
fn sorted_form(inbound: &Inbound) -> Option<Vec<u8>> {
    let query = inbound.query.as_deref().unwrap_or_default();
    let is_hashed = form::field(query.as_bytes(), BODY_HASH).is_some();
    let is_covered = !is_hashed && (inbound.body.is_empty() || form::is_form(&inbound.headers));
    is_covered.then(|| form::sorted(&inbound.body)).flatten()
}
