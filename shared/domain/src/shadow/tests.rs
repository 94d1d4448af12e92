use proptest::prelude::*;

use super::*;
use crate::delivery::Status;
use crate::delivery::tests::{NOW, row};
use crate::outcome::{Failure, FailureKind, Phase, Response};
use crate::request::tests::webhook;

fn answered(status: u16, body: &str) -> Outcome {
    Outcome {
        result: Answer::Response(Response {
            status,
            retry_after: None,
            control: None,
            content_type: Some("text/plain".into()),
            body: body.into(),
        }),
        timings: Timings::default(),
    }
}

fn failed(kind: FailureKind, detail: &str) -> Outcome {
    Outcome {
        result: Answer::Failed(Failure {
            kind,
            phase: Phase::Connect,
            detail: detail.into(),
        }),
        timings: Timings::default(),
    }
}

/// The result for one aspect.
fn compared(here: &Outcome, there: &Outcome, aspect: Aspect) -> (Likeness, String) {
    let verdict = match there.status() {
        Some(200..=299) => Verdict::Success,
        _ => Verdict::Failure,
    };
    let last = Attempt::record(3, 9, Timestamp::ZERO, there, verdict);
    let reply = ShadowReply::of(Timestamp::ZERO, here);
    let found = compare(&reply, &last)
        .into_iter()
        .find(|result| result.aspect == aspect)
        .unwrap();
    (found.likeness, found.detail)
}

fn of_status(here: &Outcome, there: &Outcome) -> (Likeness, String) {
    compared(here, there, Aspect::Status)
}

fn of_bodies(here: &str, there: &str) -> (Likeness, String) {
    compared(&answered(200, here), &answered(500, there), Aspect::Body)
}

#[test]
fn statuses_and_failures_are_compared() {
    let (ok, gone) = (answered(200, ""), answered(410, ""));
    let refused = failed(FailureKind::Connect, "refused by 192.0.2.7");
    let late = failed(FailureKind::Timeout, "no response within 10 s");
    let later = failed(FailureKind::Timeout, "no response within 20 s");
    for (here, there, likeness, words) in [
        (&ok, &ok, Likeness::Same, "200 both times"),
        (
            &ok,
            &gone,
            Likeness::Different,
            "200 here, 410 on the last attempt",
        ),
        (
            &ok,
            &late,
            Likeness::Different,
            "200 here, no response to the last attempt (timeout: no response within 10 s)",
        ),
        (
            &refused,
            &gone,
            Likeness::Different,
            "no response here (connection failed: refused by 192.0.2.7), 410 on the last attempt",
        ),
        (
            &later,
            &late,
            Likeness::Same,
            "no response either time: timeout",
        ),
        (
            &refused,
            &late,
            Likeness::Different,
            "no response: connection failed: refused by 192.0.2.7 here, timeout: no response within 10 s on the last attempt",
        ),
    ] {
        assert_eq!(of_status(here, there), (likeness, words.to_owned()));
    }
}

#[test]
fn the_first_difference_of_two_bodies_is_shown_for_both_sides() {
    let (likeness, detail) = of_bodies(r#"{"state":"größer","n":1}"#, r#"{"state":"grüß","n":1}"#);
    assert_eq!(likeness, Likeness::Different);
    // `ö` and `ü` begin with the same byte.
    let expected = r#"they differ after 12 bytes: `…state":"größer","n":1}` here, `…state":"grüß","n":1}` on the last attempt"#;
    assert_eq!(detail, expected);
    assert_eq!(
        of_bodies("not found", "not").1,
        "they differ after 3 bytes: `not found` here, `not` on the last attempt"
    );
    assert!(of_bodies("", "oops").1.contains("nothing here, `oops`"));
}

#[test]
fn a_side_that_is_not_stored_is_unknown_not_different() {
    assert_eq!(
        of_bodies("", ""),
        (Likeness::Same, "empty both times".into())
    );
    assert_eq!(
        of_bodies("no", "no"),
        (Likeness::Same, "the same 2 bytes".into())
    );
    let long = "x".repeat(KEPT);
    let words = "the first 600 bytes are the same; the rest is not stored";
    assert_eq!(
        of_bodies(&long, &long[..600]),
        (Likeness::Same, words.into())
    );
    assert_eq!(of_bodies(&long[..600], &long).0, Likeness::Different);
    let delivered = compared(&answered(200, "a"), &answered(200, "b"), Aspect::Body);
    assert_eq!(delivered.0, Likeness::Unknown);
    assert!(
        delivered.1.contains("successful attempts are not stored"),
        "{}",
        delivered.1
    );
    let silent = failed(FailureKind::Timeout, "x");
    for (here, there, words) in [
        (&silent, &answered(500, ""), "no response here"),
        (
            &answered(500, ""),
            &silent,
            "no response to the last attempt",
        ),
    ] {
        let unknown = (Likeness::Unknown, words.to_owned());
        assert_eq!(compared(here, there, Aspect::Body), unknown);
    }
    let mut last = Attempt::record(1, 1, NOW, &answered(500, "x"), Verdict::Failure);
    last.response_body = None;
    let [_, _, body] = compare(&ShadowReply::of(NOW, &answered(500, "x")), &last);
    assert_eq!(body.likeness, Likeness::Unknown);
    assert_eq!(
        body.detail,
        "the response to the last attempt is not stored"
    );
    let kind = compared(&answered(200, ""), &answered(500, ""), Aspect::ContentType);
    assert_eq!(kind.0, Likeness::Unknown);
    assert!(kind.1.starts_with("text/plain here"), "{}", kind.1);
}

#[test]
fn a_body_that_may_have_been_cut_is_the_same_as_far_as_it_is_stored() {
    let long = "x".repeat(KEPT);
    let same = |bytes: usize, whole: bool| {
        let rest = if whole {
            "the same 511 bytes".to_owned()
        } else {
            format!("the first {bytes} bytes are the same; the rest is not stored")
        };
        (Likeness::Same, rest)
    };
    assert_eq!(of_bodies(&long[..511], &long[..511]), same(511, true));
    assert_eq!(of_bodies(&long[..512], &long[..512]), same(512, false));
    // Of the stored attempt at least 512 bytes are kept.
    assert_eq!(of_bodies(&long, &long[..511]).0, Likeness::Different);
    assert_eq!(of_bodies(&long, &long[..512]), same(512, false));
    // The reply may be a character shorter than what is read of it.
    assert_eq!(of_bodies(&long[..KEPT - 5], &long).0, Likeness::Different);
    assert_eq!(of_bodies(&long[..KEPT - 4], &long), same(KEPT - 4, false));
}

#[test]
fn ten_characters_before_a_difference_and_thirty_after_it_are_shown() {
    let (same, rest) = ("äbcdefghij", "ö234567890".repeat(3));
    let of = |before: &str, after: &str| of_bodies(&format!("{before}{after}"), before).1;
    let shown = of(same, &rest);
    assert!(
        shown.contains(&format!("`{same}{rest}` here, `{same}` on")),
        "{shown}"
    );
    let shown = of(&format!("+{same}"), &format!("{rest}+"));
    assert!(
        shown.contains(&format!("`…{same}{rest}…` here, `…{same}` on")),
        "{shown}"
    );
}

#[test]
fn aspects_and_likenesses_have_the_names_of_the_api() {
    assert_eq!(
        Aspect::ALL.map(Aspect::as_str),
        ["status", "content_type", "body"]
    );
    assert_eq!(
        Likeness::ALL.map(Likeness::as_str),
        ["same", "different", "unknown"]
    );
}

const KEPT: usize = crate::outcome::KEPT_BODY_BYTES;

#[test]
fn a_draft_is_checked_as_a_whole() {
    let draft = ShadowDraft {
        url: "http://10.0.0.1/".into(),
        timeout_seconds: Some(21),
        ..ShadowDraft::default()
    };
    let errors = draft.check(&Rules::default()).unwrap_err().into_fields();
    let named: Vec<_> = errors.iter().map(|error| error.field.as_str()).collect();
    assert_eq!(named, ["url", "timeout_seconds"]);
    assert!(errors[1].message.contains("1 to 20"));
    let zero = ShadowDraft {
        url: "https://example.com/".into(),
        timeout_seconds: Some(0),
        ..ShadowDraft::default()
    };
    assert_eq!(
        zero.check(&Rules::default())
            .unwrap_err()
            .into_fields()
            .len(),
        1
    );
}

fn wish(timeout_seconds: Option<u32>, own_headers: OwnHeaders) -> ShadowWish {
    let draft = ShadowDraft {
        url: "https://other.example/".into(),
        timeout_seconds,
        own_headers,
    };
    draft.check(&Rules::default()).unwrap()
}

#[test]
fn the_timeout_is_the_wished_one_or_the_webhooks_but_at_most_20_seconds() {
    for (wished, of_webhook, used) in [
        (None, 5, 5),
        (None, 30, 20),
        (Some(1), 5, 1),
        (Some(20), 5, 20),
    ] {
        let mut webhook = webhook();
        webhook.settings.timeout = Millis::from_seconds(of_webhook);
        let timeout = wish(wished, OwnHeaders::LeftOut).timeout_for(&webhook);
        assert_eq!(timeout, Millis::from_seconds(used), "{wished:?}");
    }
}

#[test]
fn the_webhooks_own_headers_and_timeless_signatures_are_sent_only_at_the_operators_request() {
    let mut webhook = webhook();
    webhook.settings.headers = CustomHeaders::parse([("X-Team", "blue")]).unwrap();
    let (row, content) = (
        row(Status::Dead),
        Content {
            body: "{}".into(),
            content_type: "application/json".parse().unwrap(),
            query: None,
        },
    );
    let own = ["x-team", "x-observatory-signature", "x-webhook-signature"];
    for (own_headers, is_sent) in [(OwnHeaders::LeftOut, false), (OwnHeaders::Sent, true)] {
        let wish = wish(None, own_headers);
        let headers = wish.headers(&row, &content, &webhook, NOW);
        for name in own {
            assert_eq!(headers.contains_key(name), is_sent, "{name}");
        }
        for name in [
            "webhook-id",
            "webhook-timestamp",
            "webhook-signature",
            "user-agent",
        ] {
            assert!(headers.contains_key(name), "{name}");
        }
        assert_eq!(headers["postrider-shadow"], "true");
        let left_out = wish.left_out(&webhook);
        assert_eq!(left_out, if is_sent { &[][..] } else { &own[..] });
    }
}

#[test]
fn a_shadow_request_succeeds_with_a_status_from_200_to_299() {
    for (status, is_success) in [(199, false), (200, true), (299, true), (300, false)] {
        let reply = ShadowReply::of(NOW, &answered(status, "x"));
        assert_eq!(reply.is_success(), is_success, "{status}");
        assert_eq!(reply.error.is_none(), is_success, "{status}");
        assert_eq!(reply.response_body.as_deref(), Some("x"));
    }
    let silent = ShadowReply::of(NOW, &failed(FailureKind::Timeout, "x"));
    assert!(!silent.is_success() && silent.error.is_some());
}

#[test]
fn signatures_and_credentials_are_not_shown() {
    let headers = [
        ("webhook-signature", "v1,canary"),
        ("x-webhook-signature", "sha256=canary"),
        ("x-observatory-signature", "sha256=canary"),
        ("authorization", "Bearer canary"),
        ("x-team", "blue"),
    ];
    let headers = headers.map(|(name, value)| {
        (
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        )
    });
    let shown = shown(&headers.into_iter().collect());
    assert_eq!(shown.len(), 5);
    assert!(!format!("{shown:?}").contains("canary"), "{shown:?}");
    assert!(shown.contains(&("x-team".to_owned(), "blue".to_owned())));
}

proptest! {
    #[test]
    fn bodies_are_the_same_exactly_when_they_are_equal_while_they_are_whole(here in ".{0,60}", there in ".{0,60}") {
        let likeness = of_bodies(&here, &there).0;
        prop_assert_eq!(likeness == Likeness::Same, here == there);
    }
}
