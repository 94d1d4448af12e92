use proptest::prelude::*;

use super::*;
use crate::outcome::{Failure, FailureKind, Phase, Response};

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
    for (here, there) in [(&silent, &answered(500, "")), (&answered(500, ""), &silent)] {
        assert_eq!(compared(here, there, Aspect::Body).0, Likeness::Unknown);
    }
    let kind = compared(&answered(200, ""), &answered(500, ""), Aspect::ContentType);
    assert_eq!(kind.0, Likeness::Unknown);
    assert!(kind.1.starts_with("text/plain here"), "{}", kind.1);
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
