//! Why a request was rejected: what would have matched.
//!
//! Changes one thing at a time (secret, scheme, body or URL) and checks the signature as usual, ignoring its timestamp.
//! The work is bounded: each check computes one digest of the body per way and secret, and there are at most
//! [`MAX_LOOKS`] checks.

mod bodies;
mod finding;
mod urls;

pub use finding::{BodyChange, Finding, UrlChange};

use crate::inbound::Inbound;
use crate::scheme::{Encoding, Evidence, Scheme, SignedParts, TimeFit, Way};
use crate::secret::SharedSecret;
use crate::source::Source;
use crate::time::Timestamp;

/// Maximum number of checks per request.
pub const MAX_LOOKS: usize = 128;
/// Longer bodies are not modified in search of the signed one; they are not stored either.
pub const MAX_CHANGED_BYTES: usize = 64 * 1024;

/// Finds what would have matched; `now` is when the request was received. No finding contains a secret or a signature.
#[must_use]
pub fn diagnose(inbound: &Inbound, source: &Source, now: Timestamp) -> Vec<Finding> {
    let mut bench = Bench::new(inbound, source, now);
    let mut findings = bench.as_it_is();
    if findings.is_empty() {
        findings.extend(bench.old_secrets());
        findings.extend(bench.changed_bodies());
        findings.extend(bench.changed_urls());
        findings.extend(bench.other_schemes());
    }
    if findings.is_empty() {
        findings.extend(bench.missing_parts());
    }
    if findings.is_empty() {
        findings.push(Finding::Nothing);
    }
    findings
}

/// As [`diagnose`], for a request whose body is incomplete.
#[must_use]
pub fn diagnose_without_body(inbound: &Inbound, source: &Source, now: Timestamp) -> Vec<Finding> {
    let mut findings = Bench::new(inbound, source, now).missing_parts();
    if findings.is_empty() {
        findings.push(Finding::BodyCut);
    }
    findings
}

/// A request under diagnosis, and how many checks are left.
struct Bench<'a> {
    inbound: &'a Inbound,
    scheme: &'a Scheme,
    public_url: Option<&'a str>,
    live: Vec<&'a SharedSecret>,
    expired: Vec<&'a SharedSecret>,
    now: Timestamp,
    looks_left: usize,
}

/// A valid signature, and how far off its timestamp is.
struct Right {
    time: TimeFit,
}

impl<'a> Bench<'a> {
    fn new(inbound: &'a Inbound, source: &'a Source, now: Timestamp) -> Self {
        Self {
            inbound,
            scheme: &source.settings.scheme,
            public_url: source.settings.public_url.as_ref().map(url::Url::as_str),
            live: source.secrets.live(now).collect(),
            expired: source.secrets.expired(now).collect(),
            now,
            looks_left: MAX_LOOKS,
        }
    }

    fn look(
        &mut self,
        scheme: &Scheme,
        request: SignedParts<'_>,
        secrets: &[&SharedSecret],
    ) -> Option<Right> {
        self.looks_left = self.looks_left.checked_sub(1)?;
        let mut evidence = scheme
            .ways
            .iter()
            .map(|way| way.evidence(request, secrets, self.now));
        let right = evidence.find(|Evidence { is_right, .. }| *is_right)?;
        Some(Right { time: right.time })
    }

    fn request(&self) -> SignedParts<'a> {
        SignedParts {
            inbound: self.inbound,
            public_url: self.public_url,
        }
    }

    fn as_it_is(&mut self) -> Vec<Finding> {
        let live = self.live.clone();
        let right = self.look(self.scheme, self.request(), &live);
        right
            .map(|Right { time }| finding::of_time(time))
            .into_iter()
            .collect()
    }

    fn old_secrets(&mut self) -> Vec<Finding> {
        let mut old = std::mem::take(&mut self.expired).into_iter();
        let found = old.find_map(|secret| self.look(self.scheme, self.request(), &[secret]));
        found.map_or_else(Vec::new, |Right { time }| {
            let mut findings = vec![Finding::OldSecret];
            findings.extend(finding::of_off_time(time));
            findings
        })
    }

    fn changed_bodies(&mut self) -> Vec<Finding> {
        if self.inbound.body.len() > MAX_CHANGED_BYTES {
            return Vec::new();
        }
        let live = self.live.clone();
        let mut changes = bodies::changed(&self.inbound.body).into_iter();
        let found = changes.find_map(|(change, body)| {
            let changed = Inbound {
                body,
                ..self.inbound.clone()
            };
            let request = SignedParts {
                inbound: &changed,
                ..self.request()
            };
            self.look(self.scheme, request, &live)
                .map(|_| Finding::ChangedBody { change })
        });
        found.into_iter().collect()
    }

    fn changed_urls(&mut self) -> Vec<Finding> {
        if !self.scheme.signs_url() {
            return Vec::new();
        }
        let live = self.live.clone();
        let mut changes = urls::changed(self.inbound, self.public_url).into_iter();
        let found = changes.find_map(|change| {
            let changed = Inbound {
                query: change.query,
                ..self.inbound.clone()
            };
            let request = SignedParts {
                inbound: &changed,
                public_url: Some(&change.url),
            };
            let right = self.look(self.scheme, request, &live);
            right.map(|_| Finding::ChangedUrl {
                change: change.what,
            })
        });
        found.into_iter().collect()
    }

    fn other_schemes(&mut self) -> Vec<Finding> {
        let live = self.live.clone();
        let others = Scheme::all().filter(|other| other.name != self.scheme.name);
        let found = others.filter(|other| self.look(other, self.request(), &live).is_some());
        found
            .map(|other| Finding::OtherScheme { scheme: other.name })
            .collect()
    }

    /// What the scheme expects and the request lacks: signatures, or the signed timestamp.
    fn missing_parts(&self) -> Vec<Finding> {
        let is_signed = |way: &&Way| !way.given(self.inbound).is_empty();
        let mut findings = Vec::new();
        match self.scheme.ways.iter().find(is_signed) {
            Some(way) => findings.extend(self.timeless(way)),
            None => findings.extend(self.scheme.ways.iter().map(|way| self.unsigned(way))),
        }
        findings.dedup();
        findings
    }

    fn timeless(&self, way: &Way) -> Option<Finding> {
        let places = &way.time.as_ref()?.at;
        let is_there = places.iter().any(|place| place.is_there(self.inbound));
        let expected = places.first()?.shape("time");
        (!is_there).then_some(Finding::Missing { expected })
    }

    fn unsigned(&self, way: &Way) -> Finding {
        let written = match way.encoding {
            Encoding::Hex => "lowercase hex",
            Encoding::Base64 => "base64",
            Encoding::Text => "secret",
        };
        let is_there = way
            .signature
            .iter()
            .any(|field| field.is_there(self.inbound));
        let shapes: Vec<_> = way
            .signature
            .iter()
            .map(|field| field.shape(written))
            .collect();
        let expected = shapes.join(" or ");
        if is_there {
            Finding::OtherForm { expected }
        } else {
            Finding::Missing { expected }
        }
    }
}
