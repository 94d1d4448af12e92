use postrider_domain::attempt::Verdict;
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::TenantId;
use postrider_domain::outcome::{Answer, Failure, FailureKind, Outcome, Phase, Response, Timings};
use postrider_domain::retry::{OnRetryAfter, Profile};
use postrider_domain::time::{Millis, Timestamp};
use postrider_testkit::builders::{NOW, event, row, webhook, webhook_id};

use super::*;

fn attempt(result: Answer) -> Attempt {
    let timings = Timings::default();
    let outcome = Outcome { result, timings };
    Attempt::record(1, 1, Timestamp::ZERO, &outcome, Verdict::Failure)
}

fn no_answer(kind: FailureKind, phase: Phase) -> Attempt {
    let detail = "so it was".to_owned();
    attempt(Answer::Failed(Failure {
        kind,
        phase,
        detail,
    }))
}

fn answered(status: u16) -> Attempt {
    let (retry_after, body) = (None, String::new());
    attempt(Answer::Response(Response {
        status,
        retry_after,
        body,
        control: None,
        content_type: None,
    }))
}

fn delivery(status: Status, dead_cause: Option<DeadCause>) -> Delivery {
    let row = row(&event(&TenantId::default(), 1, NOW), webhook_id(1));
    Delivery {
        status,
        dead_cause,
        attempt_count: 2,
        ..row
    }
}

fn explained(row: &Delivery, last: Option<&Attempt>) -> Option<WhyView> {
    let webhook = active();
    explain(row, last, Some((&webhook, OPEN)), NOW)
}

#[test]
fn every_kind_of_failure_is_explained_with_advice() {
    let row = delivery(Status::Failed, None);
    let mut titles = Vec::new();
    for kind in FailureKind::ALL {
        let why = explained(&row, Some(&no_answer(kind, Phase::FirstByte))).unwrap();
        assert!(
            !why.advice.is_empty() && !why.meaning.is_empty(),
            "{kind:?}"
        );
        titles.push(why.title);
    }
    for status in [
        301, 400, 401, 404, 408, 409, 410, 413, 418, 429, 500, 501, 503, 600,
    ] {
        let why = explained(&row, Some(&answered(status))).unwrap();
        assert!(why.title.contains(&status.to_string()) && !why.advice.is_empty());
        titles.push(why.title);
    }
    let count = titles.len();
    titles.sort();
    titles.dedup();
    assert_eq!(titles.len(), count, "titles are distinct");
}

#[test]
fn a_timeout_is_explained_by_the_phase_it_happened_in() {
    let row = delivery(Status::Failed, None);
    let title = |phase| {
        let attempt = no_answer(FailureKind::Timeout, phase);
        explained(&row, Some(&attempt)).unwrap().title
    };
    assert!(title(Phase::Dns).starts_with("Looking up"));
    assert!(title(Phase::Connect).starts_with("Connecting to"));
    assert!(title(Phase::Tls).contains("TLS"));
    assert!(title(Phase::FirstByte).contains("took too long to respond"));

    let webhook = webhook(&TenantId::default(), 1);
    let meaning = |phase| {
        let attempt = no_answer(FailureKind::Timeout, phase);
        let why = explain(&row, Some(&attempt), Some((&webhook, OPEN)), NOW);
        why.unwrap().meaning
    };
    for phase in [Phase::Dns, Phase::Connect, Phase::Tls] {
        assert!(meaning(phase).contains("within 5 s"), "{}", meaning(phase));
    }
    let silent = meaning(Phase::FirstByte);
    assert!(silent.contains("within the timeout of 10 s"), "{silent}");
}

#[test]
fn the_advice_says_how_the_webhook_treats_retry_after() {
    let row = delivery(Status::Failed, None);
    let mut webhook = webhook(&TenantId::default(), 1);
    let mut advice = |profile, retry_after, status| {
        webhook.settings.retry.profile = profile;
        webhook.settings.retry.retry_after = retry_after;
        let last = answered(status);
        let why = explain(&row, Some(&last), Some((&webhook, OPEN)), NOW).unwrap();
        why.advice.join(" ")
    };
    for status in [429, 503] {
        for (profile, words) in [
            (Profile::Gateway, "ignores the receiver's Retry-After"),
            (Profile::PublicApi, "its delay replaces the scheduled one"),
            (Profile::Standard, "waits at least that long"),
        ] {
            let advice = advice(profile, None, status);
            assert!(advice.contains(words), "{advice}");
        }
        let overridden = advice(Profile::PublicApi, Some(OnRetryAfter::Ignore), status);
        assert!(overridden.contains("ignores"), "{overridden}");
    }
    let other = advice(Profile::PublicApi, None, 500);
    assert!(!other.contains("Retry-After"), "{other}");
}

#[test]
fn the_outlook_depends_on_the_status() {
    let outlook = |row: &Delivery| explained(row, Some(&answered(500))).map(|why| why.outlook);
    let failed = outlook(&delivery(Status::Failed, None)).unwrap();
    assert!(failed.contains("2 of 5"), "{failed}");
    for cause in DeadCause::ALL {
        let dead = outlook(&delivery(Status::Dead, Some(cause))).unwrap();
        assert!(dead.contains("stays dead until it is retried"), "{dead}");
    }
    assert_eq!(outlook(&delivery(Status::Delivered, None)), None);
    assert_eq!(explained(&delivery(Status::Pending, None), None), None);
}

const OPEN: FlowStatus = FlowStatus {
    limited: false,
    rate_milli: 5000,
    capped: false,
};

fn active() -> Webhook {
    let mut webhook = webhook(&TenantId::default(), 1);
    webhook.settings.retry_rate = 5;
    webhook
}

/// A retry that has been due for a while.
fn overdue() -> Delivery {
    Delivery {
        attempts_total: 2,
        next_retry_at: Some(NOW.minus(Millis::from_seconds(60))),
        ..delivery(Status::Failed, None)
    }
}

fn waiting(status: WebhookStatus, flow: FlowStatus) -> WhyView {
    let mut webhook = active();
    webhook.health.status = status;
    explain(
        &overdue(),
        Some(&answered(429)),
        Some((&webhook, flow)),
        NOW,
    )
    .unwrap()
}

#[test]
fn a_delivery_of_a_stopped_webhook_waits_for_it_to_be_resumed() {
    for (status, title, state) in [
        (
            WebhookStatus::Paused,
            "On hold: the webhook is paused",
            "paused by an operator",
        ),
        (
            WebhookStatus::Failed,
            "On hold: the webhook has failed",
            "needs an operator",
        ),
        (
            WebhookStatus::Disabled,
            "On hold: the webhook is disabled",
            "is disabled",
        ),
    ] {
        let why = waiting(status, OPEN);
        assert_eq!(why.title, title);
        assert!(why.meaning.contains(state), "{}", why.meaning);
        assert!(
            why.advice[0].to_lowercase().contains("resume"),
            "{:?}",
            why.advice
        );
        assert_eq!(why.outlook, "It goes out when the webhook is resumed.");
    }
}

#[test]
fn a_delivery_of_an_active_webhook_waits_for_its_rate_limit() {
    let why = waiting(WebhookStatus::Active, OPEN);
    assert_eq!(why.title, "Waiting for the webhook's rate limit");
    assert!(why.meaning.contains("go out at 5/s"), "{}", why.meaning);
    assert!(why.advice[0].contains("`retry_rate`"), "{:?}", why.advice);
    assert_eq!(why.outlook, "It goes out as soon as the rate limit allows.");
    let words = format!("{why:?}");
    assert!(!words.contains("resume"), "{words}");

    let limited = FlowStatus {
        limited: true,
        rate_milli: 1500,
        ..OPEN
    };
    let limited = waiting(WebhookStatus::Active, limited).meaning;
    assert!(
        limited.contains("at most 1.5 times per second"),
        "{limited}"
    );
}

#[test]
fn a_retry_that_is_not_due_yet_is_explained_by_its_last_failure() {
    let row = Delivery {
        next_retry_at: Some(NOW.plus(Millis::from_seconds(60))),
        ..overdue()
    };
    let why = explained(&row, Some(&answered(503))).unwrap();
    assert!(why.title.contains("503"), "{why:?}");
    assert!(why.outlook.contains("retried automatically"), "{why:?}");
}

#[test]
fn a_delivery_on_hold_whose_webhook_is_gone_will_be_dead() {
    let why = explain(&overdue(), Some(&answered(429)), None, NOW).unwrap();
    assert_eq!(why.title, "The webhook was deleted");
    assert_eq!(why.outlook, "It will be marked dead.");
    assert!(why.advice[0].contains("recreate"), "{:?}", why.advice);
}
