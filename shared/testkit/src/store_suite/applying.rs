//! The result of an attempt is written once, by the process that holds the row.

use std::sync::Arc;

use postrider_domain::attempt::{Attempt, Verdict};
use postrider_domain::decide::Transition;
use postrider_domain::delivery::{DeadCause, Status, Unclaimable};
use postrider_domain::outcome::{Answer, Failure, FailureKind, Outcome, Phase};
use postrider_ports::deliveries::{Applied, Claim};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::scene::{die, retry_at};
use super::{Fixture, Scene};
use crate::builders::{NOW, after, completion};

/// With the URL and signature that were used.
pub async fn a_delivered_row_is_closed(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let id = scene.row(scene.webhook().await.id).await;
    let claimed = scene.claimed(id, NOW).await;
    let done = completion(&claimed, Transition::Deliver, NOW);
    let applied = scene.apply(&claimed, done.clone(), NOW).await.unwrap();
    let expected = claimed.delivery().completed(&done);
    assert_eq!(applied, Applied::Done(Box::new(expected.clone())));
    assert_eq!(scene.stored(id).await, expected);
    assert_eq!(
        (expected.status, expected.next_retry_at, expected.version),
        (Status::Delivered, None, 2)
    );
    let attempts = scene.attempts(&scene.tenant, id).await.unwrap();
    assert_eq!(attempts, vec![done.attempt]);
}

/// Unclaimed again, with its error.
pub async fn a_failed_row_waits_for_its_next_attempt(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let id = scene.row(scene.webhook().await.id).await;
    for n in 1..=3 {
        let now = after(60 * (n - 1));
        let row = scene.attempt(id, retry_at(after(60 * n)), now).await;
        assert_eq!(scene.stored(id).await, row);
        assert_eq!(
            (row.status, row.next_retry_at, row.lease_owner.clone()),
            (Status::Failed, Some(after(60 * n)), None)
        );
        assert_eq!(u64::from(row.attempt_count), n);
        assert!(row.error_detail.unwrap().starts_with("HTTP status 500"));
    }
    let numbers = scene.attempts(&scene.tenant, id).await.unwrap();
    assert_eq!(
        numbers.iter().map(|one| one.number).collect::<Vec<_>>(),
        [1, 2, 3]
    );
}

/// Typed, so that nothing has to be read out of the error text.
pub async fn an_attempt_keeps_its_failure_kind_and_phase(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let id = scene.row(scene.webhook().await.id).await;
    for (n, kind) in (0..).zip(FailureKind::ALL) {
        let claimed = scene.claimed(id, after(n)).await;
        let mut done = completion(&claimed, retry_at(after(n + 1)), after(n));
        let failure = Failure {
            kind,
            phase: Phase::ALL[usize::try_from(n).unwrap() % Phase::ALL.len()],
            detail: "as an example".to_owned(),
        };
        let outcome = Outcome {
            result: Answer::Failed(failure),
            timings: done.attempt.timings,
        };
        let (number, version) = (done.attempt.number, claimed.version());
        done.attempt = Attempt::record(number, version, after(n), &outcome, Verdict::Failure);
        let applied = scene.apply(&claimed, done.clone(), after(n)).await;
        assert!(matches!(applied, Ok(Applied::Done(row)) if row.last_status.is_none()));
        let attempts = scene.attempts(&scene.tenant, id).await.unwrap();
        assert_eq!(attempts.last(), Some(&done.attempt));
    }
}

/// It cannot be claimed and is in no schedule.
pub async fn a_dead_row_stays_dead(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let id = scene.dead(webhook).await;
    let row = scene.stored(id).await;
    assert_eq!(
        (row.status, row.dead_cause, row.next_retry_at),
        (Status::Dead, Some(DeadCause::Exhausted), None)
    );
    let claim = scene.try_claim(id, after(1_000_000)).await;
    assert!(matches!(claim, Claim::Unclaimable(Unclaimable::Closed)));
    fixture.flush().await;
    assert_eq!(scene.backlog(after(1_000_001)).await, []);
    assert_eq!(scene.stored(id).await, row);
}

/// Not the row, the attempts, the webhook, the counters or the notifications.
pub async fn a_stale_apply_changes_nothing(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let id = scene.row(webhook).await;
    let first = scene.claimed(id, NOW).await;
    let second = scene.claimed(id, after(30)).await;
    let late = scene.finish(&first, die(DeadCause::Gone), after(31)).await;
    assert_eq!(late, Applied::Stale);
    assert_eq!(scene.stored(id).await, *second.delivery());
    let attempts = scene.attempts(&scene.tenant, id).await;
    assert_eq!(attempts, Ok(Vec::new()));
    assert_eq!(scene.health(webhook).await, Default::default());
    fixture.flush().await;
    assert_eq!(scene.notification_kinds().await, Vec::<String>::new());
    scene.finish(&second, Transition::Deliver, after(32)).await;
    let late = scene.finish(&first, die(DeadCause::Gone), after(33)).await;
    assert_eq!(late, Applied::Stale);
    assert_eq!(scene.stored(id).await.status, Status::Delivered);
    let attempts = scene.attempts(&scene.tenant, id).await.unwrap();
    assert_eq!(attempts.len(), 1);
}

/// A renewal does not make the claim of its own holder stale.
pub async fn an_apply_after_a_renewal_counts(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let id = scene.row(scene.webhook().await.id).await;
    let claimed = scene.claimed(id, NOW).await;
    scene.renew(&claimed, after(40)).await.unwrap();
    let applied = scene.finish(&claimed, Transition::Deliver, after(35)).await;
    assert!(matches!(applied, Applied::Done(_)));
    assert_eq!(scene.stored(id).await.lease_owner, None);
}

/// It is recorded, counted and notified once.
pub async fn an_apply_whose_response_was_lost_is_recognised(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let id = scene.row(webhook).await;
    let claimed = scene.claimed(id, NOW).await;
    let first = scene.finish(&claimed, retry_at(after(60)), NOW).await;
    let second = scene.finish(&claimed, retry_at(after(60)), NOW).await;
    assert_eq!(first, second);
    assert!(matches!(first, Applied::Done(_)));
    // Also when the row has changed since.
    scene.attempt(id, Transition::Deliver, after(60)).await;
    match scene.finish(&claimed, retry_at(after(60)), after(61)).await {
        Applied::Done(row) => assert_eq!(row.status, Status::Delivered),
        Applied::Stale => panic!("it was applied"),
    }
    let attempts = scene.attempts(&scene.tenant, id).await.unwrap();
    assert_eq!(attempts.len(), 2);
    fixture.flush().await;
    assert_eq!(
        scene.notification_kinds().await,
        ["delivery.failed", "delivery.delivered"]
    );
}

/// However many callers apply the same completion.
pub async fn one_of_concurrent_equal_applies_is_recorded(fixture: impl Fixture) {
    let scene = Arc::new(Scene::of(fixture.handle()));
    let id = scene.row(scene.webhook().await.id).await;
    let claimed = scene.claimed(id, NOW).await;
    let barrier = Arc::new(Barrier::new(8));
    let mut calls = JoinSet::new();
    for _ in 0..8 {
        let (scene, claimed, barrier) = (scene.clone(), claimed.clone(), barrier.clone());
        calls.spawn(async move {
            barrier.wait().await;
            scene.finish(&claimed, Transition::Deliver, NOW).await
        });
    }
    for applied in calls.join_all().await {
        assert!(matches!(applied, Applied::Done(_)));
    }
    let attempts = scene.attempts(&scene.tenant, id).await.unwrap();
    assert_eq!(attempts.len(), 1);
}
