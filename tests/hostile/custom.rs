//! Custom schemes.

use std::sync::Arc;

use arbitrary::{Arbitrary, Result, Unstructured};
use bytes::Bytes;
use postrider_domain::inbound::{Inbound, verify};
use postrider_domain::scheme::{CustomDraft, Digest, Part};

use super::Outcome;
use super::scene::{NOW, Scene};

const PLACES: [&str; 6] = [
    "header:x-a",
    "header:x-signature",
    "header:webhook-id",
    "body:/a/0",
    "body:/message",
    "form:a",
];
const PREFIXES: [&str; 5] = ["", "v1=", "t=", "sha256=", ","];
const SEPARATORS: [&str; 4] = [",", ";", " ", "|"];
const ENCODINGS: [&str; 3] = ["hex", "base64", "text"];
const DIGESTS: [&str; 7] = [
    "hmac-sha256",
    "hmac-sha1",
    "hmac-sha512",
    "sha256",
    "ed25519",
    "ecdsa-p256",
    "token",
];
const KEYS: [&str; 5] = ["text", "base64", "hex", "whsec", "whpk"];
const SIGNED: [&str; 7] = [
    "{body}",
    "{timestamp}.{body}",
    "{id}.{timestamp}.{body}",
    "{url}{body}",
    "{method}{url}{body}{timestamp}",
    "{timestamp}{body}",
    "v0:{timestamp}:{body}",
];
const FORMATS: [&str; 3] = ["seconds", "milliseconds", "rfc3339"];

/// A known word, any text, or nothing.
fn said(input: &mut Unstructured<'_>, words: &[&str]) -> Result<Option<String>> {
    Ok(match input.int_in_range(0..=7_u8)? {
        0 => None,
        1 => Some(input.arbitrary::<&str>()?.to_owned()),
        _ => Some((*input.choose(words)?).to_owned()),
    })
}

fn draft(input: &mut Unstructured<'_>) -> Result<CustomDraft> {
    Ok(CustomDraft {
        header: said(input, &["x-signature", "X-A", "webhook-signature"])?.unwrap_or_default(),
        digest: said(input, &DIGESTS)?,
        encoding: said(input, &ENCODINGS)?,
        key: said(input, &KEYS)?,
        signed: said(input, &SIGNED)?,
        timestamp: said(input, &PLACES)?,
        timestamp_format: said(input, &FORMATS)?,
        id: said(input, &PLACES)?,
        prefix: said(input, &PREFIXES)?,
        separator: said(input, &SEPARATORS)?,
        timestamp_prefix: said(input, &PREFIXES)?,
        window_seconds: Option::arbitrary(input)?,
        event_type: said(input, &PLACES)?.into_iter().collect(),
        delivery_id: said(input, &PLACES)?.into_iter().collect(),
    })
}

/// Creates a custom scheme, validates it, signs with it and verifies.
///
/// # Panics
/// When a valid scheme does not survive a round trip, or a forged request is accepted.
pub fn try_custom(input: &[u8]) -> Outcome {
    let mut input = Unstructured::new(input);
    let Ok(draft) = draft(&mut input) else {
        return Outcome::Nothing;
    };
    let Ok(scheme) = draft.check() else {
        return Outcome::Rejected;
    };
    let again = CustomDraft::from(&scheme).check();
    assert_eq!(
        again.as_ref(),
        Ok(&scheme),
        "the draft of a scheme gives the same scheme"
    );
    let way = scheme.ways[0].clone();
    let Some(scene) = Scene::new(Arc::new(scheme), way) else {
        return Outcome::Rejected;
    };
    let Some(signed) = scene.signed(0, None) else {
        return Outcome::Rejected;
    };
    let check = |inbound: &Inbound, source| verify(inbound.clone(), Some(source), NOW).is_ok();
    assert!(!check(&signed, &scene.stranger), "a stranger accepts it");
    let covers_body = scene.way.digest != Digest::Token && scene.way.signed.contains(&Part::Body);
    let mut body = signed.body.to_vec();
    body.extend(input.take_rest());
    let changed = Inbound {
        body: Bytes::from(body),
        ..signed.clone()
    };
    let is_changed = changed.body != signed.body;
    let is_forged = covers_body && is_changed && check(&changed, &scene.known);
    assert!(!is_forged, "another body is accepted: {:?}", scene.way);
    if check(&signed, &scene.known) {
        Outcome::Accepted
    } else {
        Outcome::Rejected
    }
}
