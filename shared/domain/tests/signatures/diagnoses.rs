//! Diagnoses: what would have made a rejected request match.

use super::{NOW, URL, keys, named, post, secret, signed, source, unsigned};
use postrider_domain::diagnosis::{
    BodyChange, Finding, UrlChange, diagnose, diagnose_without_body,
};
use postrider_domain::inbound::{Inbound, Rejection, verify};
use postrider_domain::rejected::RejectedRequest;
use postrider_domain::secret::{OVERLAP, RetiringSecret};
use postrider_domain::source::Source;
use postrider_domain::time::Millis;
use postrider_samples::{self as sample, SampleEvent, SampleKeys, Unsigned};

const SECRET: &str = "canary-It's a Secret";
const ID: &str = "7d1a6f";

fn keyed(text: &str) -> SampleKeys {
    SampleKeys::of(secret(text))
}

/// The first sample of the scheme, signed with this secret.
fn sent(scheme: &str, by: &str) -> Inbound {
    let scheme = named(scheme);
    signed(&scheme, &scheme.ways[0], &keyed(by), ID, NOW)
}

/// The findings for a rejected request; they reveal no secret.
fn findings(inbound: &Inbound, source: &Source) -> Vec<Finding> {
    assert!(verify(inbound.clone(), Some(source), NOW).is_err());
    let mut source = source.clone();
    source.secrets.retiring.push(RetiringSecret {
        secret: secret("canary-old"),
        expires_at: NOW,
    });
    let findings = diagnose(inbound, &source, NOW);
    let shown: String = findings
        .iter()
        .map(|finding| format!("{finding} {finding:?}"))
        .collect();
    let given = inbound
        .headers
        .values()
        .filter_map(|value| value.to_str().ok());
    let mut signatures = given.filter(|value| value.len() > 40);
    assert!(
        !shown.contains("canary") && !signatures.any(|one| shown.contains(one)),
        "{shown}"
    );
    findings
}

#[test]
fn an_old_secret() {
    let current = source(&named("github"), secret(SECRET));
    assert_eq!(
        findings(&sent("github", "canary-old"), &current),
        [Finding::OldSecret]
    );
    let rotated = Source {
        secrets: source(&named("github"), secret("x"))
            .secrets
            .rotated(secret(SECRET), NOW.minus(OVERLAP))
            .unwrap(),
        ..current
    };
    assert_eq!(
        findings(&sent("github", "x"), &rotated),
        [Finding::OldSecret]
    );
}

#[test]
fn another_scheme() {
    let source = source(&named("intercom"), secret(SECRET));
    let other = |scheme| Finding::OtherScheme { scheme };
    assert_eq!(
        findings(&sent("github", SECRET), &source),
        [other("github"), other("meta")]
    );
    assert_eq!(
        findings(&sent("stripe", SECRET), &source),
        [other("stripe")]
    );
    assert_eq!(
        findings(&sent("square", SECRET), &source),
        [other("square")]
    );
}

#[test]
fn a_clock_that_is_off() {
    let scheme = named("slack");
    let source = source(&scheme, secret(SECRET));
    for (at, seconds_off) in [
        (NOW.plus(Millis::from_seconds(3600)), 3600),
        (NOW.minus(Millis::from_seconds(301)), -301),
    ] {
        let inbound = signed(&scheme, &scheme.ways[0], &keyed(SECRET), ID, at);
        assert_eq!(
            findings(&inbound, &source),
            [Finding::Clock { seconds_off }]
        );
    }
    let old = signed(
        &scheme,
        &scheme.ways[0],
        &keyed("canary-old"),
        ID,
        NOW.minus(Millis::from_seconds(500)),
    );
    assert_eq!(
        findings(&old, &source),
        [Finding::OldSecret, Finding::Clock { seconds_off: -500 }]
    );
}

#[test]
fn a_body_that_was_serialized_again() {
    let scheme = named("github");
    let source = source(&scheme, secret(SECRET));
    for (sent, received, change) in [
        (
            r#"{"b":1,"a":[1,2]}"#,
            r#"{"b": 1, "a": [1, 2]}"#,
            BodyChange::Compact,
        ),
        (
            r#"{"b": 1, "a": [1, 2]}"#,
            r#"{"b":1,"a":[1,2]}"#,
            BodyChange::Spaced,
        ),
        (
            r#"{"a":[1,2],"b":1}"#,
            r#"{"b":1,"a":[1,2]}"#,
            BodyChange::Sorted,
        ),
        (
            r#"{"a": [1, 2], "b": 1}"#,
            r#"{"b":1,"a":[1,2]}"#,
            BodyChange::SortedSpaced,
        ),
        ("{}", "{}\n", BodyChange::NewlineCut),
        ("{}\n", "{}", BodyChange::NewlineAdded),
        ("a\r\nb", "a\nb", BodyChange::CrlfAdded),
        ("a\nb", "a\r\nb", BodyChange::CrlfCut),
        ("hello", "aGVsbG8=", BodyChange::Base64Decoded),
        ("", "hello", BodyChange::Empty),
    ] {
        let event = SampleEvent {
            body: sent,
            ..sample::events(&scheme)[0]
        };
        let inbound = sample::sign(&scheme, &keyed(SECRET), unsigned(&event, ID), NOW).unwrap();
        let inbound = Inbound {
            body: received.into(),
            ..inbound
        };
        assert_eq!(
            findings(&inbound, &source),
            [Finding::ChangedBody { change }],
            "{change:?}"
        );
    }
}

#[test]
fn bodies_up_to_64_kib_are_modified_in_search_of_the_signed_one() {
    let scheme = named("github");
    let source = source(&scheme, secret(SECRET));
    let of = |bytes: usize| {
        let received = format!("{}\n", "x".repeat(bytes - 1));
        let sent = Unsigned {
            body: received.trim_end().as_bytes(),
            ..unsigned(&sample::events(&scheme)[0], ID)
        };
        let inbound = sample::sign(&scheme, &keyed(SECRET), sent, NOW).unwrap();
        let body = received.into();
        findings(&Inbound { body, ..inbound }, &source)
    };
    let change = BodyChange::NewlineCut;
    assert_eq!(of(65_536), [Finding::ChangedBody { change }]);
    assert_eq!(of(65_537), [Finding::Nothing]);
}

#[test]
fn a_different_url() {
    let scheme = named("square");
    let event = &sample::events(&scheme)[0];
    let as_is = source(&scheme, secret(SECRET));
    for (called, change) in [
        (
            "https://hooks.example:443/gateway/webhooks/src_1",
            UrlChange::PortAdded,
        ),
        (
            "https://hooks.example/gateway/webhooks/src_1/",
            UrlChange::SlashAdded,
        ),
        (
            "http://hooks.example/gateway/webhooks/src_1",
            UrlChange::Http,
        ),
        ("https://inner.example/in", UrlChange::AsReceived),
    ] {
        let unsigned = Unsigned {
            url: called,
            ..unsigned(event, ID)
        };
        let mut inbound = sample::sign(&scheme, &keyed(SECRET), unsigned, NOW).unwrap();
        inbound
            .headers
            .insert("host", "inner.example".parse().unwrap());
        inbound.path = "/in".to_owned();
        assert_eq!(
            findings(&inbound, &as_is),
            [Finding::ChangedUrl { change }],
            "{called}"
        );
    }
    let inbound = sample::sign(&scheme, &keyed(SECRET), unsigned(event, ID), NOW).unwrap();
    for (kept, query, change) in [
        (
            "https://hooks.example:8443/gateway/webhooks/src_1",
            None,
            UrlChange::PortCut,
        ),
        (
            "https://hooks.example/gateway/webhooks/src_1/",
            None,
            UrlChange::SlashCut,
        ),
        (
            "http://hooks.example/gateway/webhooks/src_1",
            None,
            UrlChange::Https,
        ),
        (URL, Some("a=1".to_owned()), UrlChange::QueryCut),
    ] {
        let mut other = as_is.clone();
        other.settings.public_url = Some(kept.parse().unwrap());
        let inbound = Inbound {
            query,
            ..inbound.clone()
        };
        assert_eq!(
            findings(&inbound, &other),
            [Finding::ChangedUrl { change }],
            "{kept}"
        );
    }
}

#[test]
fn a_header_that_is_missing_or_in_another_form() {
    let github = source(&named("github"), secret(SECRET));
    let expected = "header `x-hub-signature-256: sha256=<lowercase hex>`".to_owned();
    assert_eq!(
        findings(&post(&[], b"{}"), &github),
        [Finding::Missing {
            expected: expected.clone()
        }]
    );
    let bare = post(&[("x-hub-signature-256", "00")], b"{}");
    assert_eq!(findings(&bare, &github), [Finding::OtherForm { expected }]);
    let slack = source(&named("slack"), secret(SECRET));
    let timeless = post(
        &[("x-slack-signature", &format!("v0={}", "00".repeat(32)))],
        b"{}",
    );
    let expected = "header `x-slack-request-timestamp: <time>`".to_owned();
    assert_eq!(findings(&timeless, &slack), [Finding::Missing { expected }]);
}

#[test]
fn a_truncated_body() {
    let source = source(&named("github"), secret(SECRET));
    let sent = sent("github", SECRET);
    let cut = diagnose_without_body(&sent, &source, NOW);
    assert_eq!(cut, [Finding::BodyCut]);
    let expected = "header `x-hub-signature-256: sha256=<lowercase hex>`".to_owned();
    let unsigned = diagnose_without_body(&post(&[], b"{}"), &source, NOW);
    assert_eq!(unsigned, [Finding::Missing { expected }]);
}

#[test]
fn a_stored_request_is_diagnosed_as_far_as_it_is_stored() {
    let source = source(&named("github"), secret(SECRET));
    let stored = RejectedRequest::of(
        &source,
        sent("github", "canary-old"),
        Rejection::NoMatch,
        NOW,
    );
    assert_eq!(stored.diagnose(&source), [Finding::Nothing]);
    let is_cut = true;
    let cut = RejectedRequest { is_cut, ..stored };
    assert_eq!(cut.diagnose(&source), [Finding::BodyCut]);
}

#[test]
fn nothing_at_all() {
    let source = source(&named("github"), secret(SECRET));
    assert_eq!(
        findings(&sent("github", "another"), &source),
        [Finding::Nothing]
    );
}

#[test]
fn a_matching_request_is_reported_as_matching() {
    let scheme = named("discord");
    let keys = keys(&scheme.ways[0], 1);
    let source = source(&scheme, keys.secret.clone());
    let inbound = signed(&scheme, &scheme.ways[0], &keys, ID, NOW);
    assert_eq!(diagnose(&inbound, &source, NOW), [Finding::Matches]);
}
