//! Custom schemes.

use super::{NOW, keys, secret, signed, source};
use postrider_domain::inbound::verify;
use postrider_domain::scheme::{CustomDraft, Scheme, TimeForm, Way};
use postrider_domain::time::Millis;
use postrider_samples as sample;
use std::sync::Arc;

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn draft() -> CustomDraft {
    CustomDraft {
        header: "X-Acme-Signature".to_owned(),
        prefix: some("v1="),
        encoding: some("base64"),
        digest: some("hmac-sha512"),
        key: some("hex"),
        signed: some("{id}|{method}|{timestamp}|{url}|{body}"),
        timestamp: some("header:X-Acme-Signature"),
        timestamp_prefix: some("t="),
        timestamp_format: some("milliseconds"),
        window_seconds: Some(60),
        id: some("header:X-Acme-Id"),
        event_type: vec!["header:X-Acme-Event".to_owned(), "body:/message".to_owned()],
        delivery_id: vec!["header:X-Acme-Id".to_owned()],
        ..CustomDraft::default()
    }
}

#[test]
fn a_custom_scheme_verifies_what_it_signs() {
    let scheme = Arc::new(draft().check().unwrap());
    let way = &scheme.ways[0];
    let keys = keys(way, 1);
    let source = source(&scheme, keys.secret.clone());
    let inbound = signed(&scheme, way, &keys, "id-1", NOW);
    let header = inbound.headers["x-acme-signature"].to_str().unwrap();
    assert!(header.starts_with("t=1771668000000,v1="), "{header}");
    let verified = verify(inbound.clone(), Some(&source), NOW).unwrap();
    assert_eq!(
        verified.event_type().as_str(),
        "Hello_from_postrider_trigger"
    );
    assert_eq!(scheme.name, "custom");
    let id = verified.keyed_id().unwrap();
    let again = signed(
        &scheme,
        way,
        &keys,
        "id-1",
        NOW.plus(Millis::from_seconds(1)),
    );
    let again = verify(again, Some(&source), NOW).unwrap().keyed_id();
    assert_eq!(
        again,
        Some(id),
        "the delivery id counts, not the signed time"
    );
    let mut other = inbound;
    other.headers.insert("x-acme-id", "id-2".parse().unwrap());
    assert!(verify(other, Some(&source), NOW).is_err());
}

#[test]
fn a_custom_scheme_can_be_written_back_as_a_draft() {
    let scheme = draft().check().unwrap();
    let stored = serde_json::to_string(&CustomDraft::from(&scheme)).unwrap();
    let again: CustomDraft = serde_json::from_str(&stored).unwrap();
    assert_eq!(again.check(), Ok(scheme));
    let plain = CustomDraft {
        header: "x-sig".to_owned(),
        ..CustomDraft::default()
    };
    let scheme = plain.check().unwrap();
    assert_eq!(CustomDraft::from(&scheme).check(), Ok(scheme));
}

#[test]
fn what_a_draft_leaves_out_is_as_in_the_schemes_that_sign_the_body() {
    let plain = CustomDraft {
        header: "x-sig".to_owned(),
        ..CustomDraft::default()
    };
    let mut scheme = plain.check().unwrap();
    let signature = std::mem::take(&mut scheme.ways[0].signature);
    assert_eq!(scheme.ways, [Way::default()]);
    assert_eq!(signature[0].separator, Some(','));
    let timed = CustomDraft {
        header: "x-sig".to_owned(),
        signed: some("{timestamp}.{body}"),
        timestamp: some("header:x-time"),
        ..CustomDraft::default()
    };
    let time = timed.check().unwrap().ways[0].time.clone().unwrap();
    assert_eq!(
        (time.form, time.window_seconds),
        (TimeForm::Seconds, Some(300))
    );
}

/// A token is not a list, so only the timestamp uses the separator.
#[test]
fn the_separator_of_a_tokens_timestamp_survives_a_round_trip() {
    let scheme = CustomDraft {
        header: "x-token".to_owned(),
        digest: some("token"),
        encoding: some("text"),
        separator: some(";"),
        timestamp: some("body:/sent"),
        timestamp_prefix: some("t="),
        ..CustomDraft::default()
    }
    .check()
    .unwrap();
    assert_eq!(CustomDraft::from(&scheme).check(), Ok(scheme));
}

#[test]
fn a_built_in_scheme_can_be_described_as_a_custom_one() {
    for name in [
        "github", "slack", "stripe", "paddle", "discord", "sendgrid", "intercom", "typeform",
        "square",
    ] {
        let row = Scheme::named(name).unwrap();
        let described = CustomDraft::from(&*row).check().unwrap();
        assert_eq!(described.ways[0], row.ways[0], "{name}");
    }
}

#[test]
fn a_token_needs_only_its_header() {
    let token = CustomDraft {
        header: "x-token".to_owned(),
        digest: some("token"),
        encoding: some("text"),
        ..CustomDraft::default()
    };
    let scheme = Arc::new(token.check().unwrap());
    let source = source(&scheme, secret("a, b"));
    let sent = |token| {
        verify(
            super::post(&[("x-token", token)], b"{}"),
            Some(&source),
            NOW,
        )
        .is_ok()
    };
    assert!(sent("a, b"));
    assert!(!sent("a"));
}

#[test]
fn every_error_is_reported_at_once() {
    let bad = CustomDraft {
        header: "a b".to_owned(),
        prefix: some("not visible"),
        separator: some("|"),
        encoding: some("rot13"),
        digest: some("md5"),
        key: some("paper"),
        signed: some("{timestamp}"),
        timestamp: some("cookie:x"),
        timestamp_prefix: some("\n"),
        timestamp_format: some("days"),
        window_seconds: Some(0),
        id: some("body:x"),
        event_type: vec!["header:x".to_owned(); 5],
        delivery_id: vec!["form:".to_owned()],
    };
    let faults = bad.check().unwrap_err().into_fields();
    let mut fields: Vec<_> = faults.iter().map(|fault| fault.field.as_str()).collect();
    fields.sort_unstable();
    let expected = [
        "custom.delivery_id",
        "custom.digest",
        "custom.encoding",
        "custom.event_type",
        "custom.header",
        "custom.id",
        "custom.key",
        "custom.prefix",
        "custom.separator",
        "custom.signed",
        "custom.timestamp",
        "custom.timestamp_format",
        "custom.timestamp_prefix",
        "custom.window_seconds",
    ];
    assert_eq!(fields, expected);
}

#[test]
fn fields_must_be_consistent() {
    let with = |change: fn(&mut CustomDraft)| {
        let mut draft = draft();
        change(&mut draft);
        let faults = draft.check().unwrap_err().into_fields();
        faults
            .into_iter()
            .map(|fault| fault.field)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        with(|draft| draft.signed = some("{id}.{body}")),
        ["custom.signed"]
    );
    assert_eq!(with(|draft| draft.timestamp = None), ["custom.timestamp"]);
    assert_eq!(with(|draft| draft.id = None), ["custom.id"]);
    assert_eq!(
        with(|draft| draft.signed = some("{timestamp}.{body}")),
        ["custom.id"]
    );
    assert_eq!(
        with(|draft| draft.digest = some("ecdsa-p256")),
        ["custom.key"]
    );
    assert_eq!(
        with(|draft| draft.digest = some("token")),
        ["custom.signed"],
        "a token signs nothing"
    );
    assert_eq!(with(|draft| draft.encoding = some("text")), ["custom.key"]);
    assert_eq!(
        with(|draft| draft.window_seconds = Some(3601)),
        ["custom.window_seconds"]
    );
}

#[test]
fn every_scheme_has_samples_of_its_own() {
    let little = sample::events(&draft().check().unwrap());
    for scheme in Scheme::all() {
        assert_ne!(sample::events(scheme), little, "{}", scheme.name);
    }
}
