//! One way of signing, and its check against a request.

use std::borrow::Cow;

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};
use subtle::{Choice, ConstantTimeEq};

use super::digest::SignedMessage;
use super::key::SchemeKey;
use super::pick::is_json;
use super::time::TimeFit;
use super::{Digest, Encoding, Field, KeyForm, Part, Time, form};
use crate::inbound::Inbound;
use crate::secret::SharedSecret;
use crate::signature::MAX_SIGNATURES;
use crate::time::Timestamp;

/// The query field in which Twilio sends the digest of a body that is not a form.
const BODY_HASH: &str = "bodySHA256";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    /// Where signatures may be; those of all places count.
    pub signature: Vec<Field>,
    pub encoding: Encoding,
    pub digest: Digest,
    pub key: KeyForm,
    pub signed: Vec<Part>,
    pub time: Option<Time>,
    /// Where to find the signed id: the first of these fields that is present.
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

/// A request, and the URL that its sender called.
#[derive(Clone, Copy)]
pub struct SignedParts<'a> {
    pub inbound: &'a Inbound,
    pub public_url: Option<&'a str>,
}

/// The result of checking a request against one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Evidence {
    /// Whether the request has a signature in the expected format.
    pub(crate) is_signed: bool,
    /// Whether one of its signatures is valid.
    pub(crate) is_right: bool,
    pub(crate) time: TimeFit,
}

impl Way {
    /// Checks every signature in the request against every secret, all in constant time.
    pub(crate) fn evidence(
        &self,
        request: SignedParts<'_>,
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

    /// The secret's key, if this way can use it.
    pub fn key<'s>(&self, secret: &'s SharedSecret) -> Option<SchemeKey<'s>> {
        let key = self.key.decode(secret)?;
        self.digest.takes(key.as_ref()).then_some(key)
    }

    /// The request's signatures, decoded; values in another format are ignored.
    pub(crate) fn given(&self, inbound: &Inbound) -> Vec<Vec<u8>> {
        let texts = self.signature.iter().flat_map(|field| field.texts(inbound));
        let given = texts.filter(|text| !text.is_empty());
        let given = given.filter_map(|text| self.encoding.decode(&text));
        given.take(MAX_SIGNATURES).collect()
    }

    /// The signed message, and whether it is complete and unambiguous.
    pub fn message<'a>(&'a self, request: SignedParts<'a>) -> (SignedMessage<'a>, Choice) {
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
        request: SignedParts<'a>,
    ) -> Option<Cow<'a, [u8]>> {
        let SignedParts {
            inbound,
            public_url,
        } = request;
        Some(match part {
            Part::Text(text) => Cow::Borrowed(text.as_bytes()),
            Part::Time => bytes(self.time_text(inbound)?),
            Part::Id => {
                let id = first(&self.id, inbound)?;
                // An id that contains the separator after it could be split in two ways, one of them forged.
                let is_plain =
                    !matches!(next, Some(Part::Text(separator)) if id.contains(separator.as_ref()));
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

    /// Whether the signature covers exactly this body, given the digest and the order of the parts.
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

/// Whether it is clear where the query ends and the body begins. There is no separator between them, so a request split
/// at another position would have the same signature. Queries contain no braces, so a JSON body is unambiguous; without
/// a query, so is any body that does not start like one.
fn has_border(inbound: &Inbound) -> bool {
    match (inbound.query.as_deref(), inbound.body.first()) {
        (None, first) => first != Some(&b'?'),
        (Some(query), None) => !query.contains('['),
        (Some(_), Some(first)) => b"{[".contains(first) && is_json(&inbound.body),
    }
}

/// `None` for a body that is not a form, as its fields would not cover it, and for one whose digest is in the query.
fn sorted_form(inbound: &Inbound) -> Option<Vec<u8>> {
    let query = inbound.query.as_deref().unwrap_or_default();
    let is_hashed = form::field(query.as_bytes(), BODY_HASH).is_some();
    let is_covered = !is_hashed && (inbound.body.is_empty() || form::is_form(&inbound.headers));
    is_covered.then(|| form::sorted(&inbound.body)).flatten()
}
