//! One holder at a time.

use std::sync::Arc;

use postrider_domain::decide::Transition;
use postrider_domain::delivery::{Delivery, Unclaimable};
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::DeliveryId;
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::deliveries::{Claim, Renewed, Seen, SeenRow, Wanted};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::scene::LEASE;
use super::{Fixture, Scene};
use crate::builders::{NOW, after};

const TICK: Millis = Millis::new(1);

/// From two processes at once.
pub async fn one_of_many_claimers_wins(fixture: impl Fixture) {
    const CLAIMERS: usize = 32;
    let ours = Arc::new(Scene::of(fixture.handle()));
    let theirs = Arc::new(Scene::of(fixture.another_process().await));
    let webhook = ours.webhook().await.id;
    for _ in 0..5 {
        let id = ours.row(webhook).await;
        let barrier = Arc::new(Barrier::new(CLAIMERS));
        let mut claimers = JoinSet::new();
        for n in 0..CLAIMERS {
            let scene = if n % 2 == 0 { &ours } else { &theirs };
            let (scene, barrier) = (scene.clone(), barrier.clone());
            claimers.spawn(async move {
                barrier.wait().await;
                scene.try_claim(id, NOW).await
            });
        }
        let (mut won, mut held) = (0, 0);
        for claim in claimers.join_all().await {
            match claim {
                Claim::Claimed(_) => won += 1,
                Claim::Unclaimable(Unclaimable::Held) => held += 1,
                other => panic!("{other:?}"),
            }
        }
        assert_eq!((won, held), (1, CLAIMERS - 1));
        assert_eq!(ours.stored(id).await.version, 1);
    }
}

/// Strictly: at the last instant of the lease the row is still held.
pub async fn a_claim_is_rejected_until_its_lease_has_expired(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let id = scene.row(scene.webhook().await.id).await;
    let first = scene.claimed(id, NOW).await;
    let last_instant = NOW.plus(LEASE);
    assert_eq!(first.delivery().lease_until, last_instant);
    for at in [NOW, after(1), last_instant] {
        assert_unclaimable(scene.try_claim(id, at).await, Unclaimable::Held);
    }
    let second = scene.claimed(id, last_instant.plus(TICK)).await;
    assert!(second.version() > first.version());
}

/// Also when the first process still runs.
pub async fn an_expired_lease_can_be_claimed_by_another_process(fixture: impl Fixture) {
    let ours = Scene::of(fixture.handle());
    let theirs = Scene::of(fixture.another_process().await);
    let id = ours.row(ours.webhook().await.id).await;
    ours.claimed(id, NOW).await;
    let last_instant = NOW.plus(LEASE);
    assert_unclaimable(theirs.try_claim(id, last_instant).await, Unclaimable::Held);
    theirs.claimed(id, last_instant.plus(TICK)).await;
}

/// The response to the first call was lost.
pub async fn a_claim_repeated_by_its_owner_succeeds(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let id = scene.row(scene.webhook().await.id).await;
    let wanted = scene.wanted(id, NOW);
    let claimed = |claim| match claim {
        Claim::Claimed(delivery) => delivery.claimed,
        other => panic!("{other:?}"),
    };
    let first = claimed(scene.claim_as(wanted.clone(), NOW).await);
    let second = claimed(scene.claim_as(wanted, NOW).await);
    assert_eq!(first, second);
    assert_eq!(scene.stored(id).await.version, 1);
}

/// Otherwise backoff could be bypassed.
pub async fn a_row_taken_for_fresh_is_claimed_only_if_it_is(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let fresh = |id, now| Wanted {
        seen: Seen {
            row: SeenRow::Accepted,
            ..Seen::default()
        },
        ..scene.wanted(id, now)
    };
    let id = scene.row(webhook).await;
    let first = fresh(id, NOW);
    for _ in 0..2 {
        let claim = scene.claim_as(first.clone(), NOW).await;
        assert!(matches!(claim, Claim::Claimed(_)), "{claim:?}");
    }
    let held = scene.claim_as(fresh(id, NOW), NOW).await;
    assert!(matches!(held, Claim::NotFresh), "{held:?}");
    let expired = NOW.plus(LEASE).plus(TICK);
    let abandoned = scene.claim_as(fresh(id, expired), expired).await;
    assert!(matches!(abandoned, Claim::NotFresh), "{abandoned:?}");
    let claimed = scene.claimed(id, expired).await;
    let transition = Transition::Retry {
        next_retry_at: expired,
    };
    scene.finish(&claimed, transition, expired).await;
    let due_again = scene.claim_as(fresh(id, expired), expired).await;
    assert!(matches!(due_again, Claim::NotFresh), "{due_again:?}");
}

pub async fn a_row_that_is_not_due_cannot_be_claimed(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let id = scene.failed(scene.webhook().await.id).await;
    let due_at = after(60);
    let early = Timestamp::from_millis(due_at.as_millis() - 1);
    assert_unclaimable(
        scene.try_claim(id, early).await,
        Unclaimable::NotDue(due_at),
    );
    scene.claimed(id, due_at).await;
}

/// Delivered or dead.
pub async fn a_closed_row_cannot_be_claimed(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    for id in [scene.delivered(webhook).await, scene.dead(webhook).await] {
        let before = scene.stored(id).await;
        assert_unclaimable(
            scene.try_claim(id, after(86_400)).await,
            Unclaimable::Closed,
        );
        assert_eq!(scene.stored(id).await, before);
    }
}

/// Of an unknown event, or of a webhook that the event was not routed to.
pub async fn an_unknown_row_is_missing(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let (a, b) = (scene.webhook().await.id, scene.webhook().await.id);
    let id = scene.row(a).await;
    let elsewhere = DeliveryId { webhook: b, ..id };
    let nowhere = DeliveryId {
        event: scene.event(NOW).id,
        ..id
    };
    for id in [elsewhere, nowhere] {
        assert!(matches!(scene.try_claim(id, NOW).await, Claim::Missing));
        assert_eq!(scene.delivery(&scene.tenant, id).await, Ok(None));
    }
}

/// And not after another process has claimed the row.
pub async fn only_its_holder_can_renew_a_lease(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let id = scene.row(scene.webhook().await.id).await;
    let first = scene.claimed(id, NOW).await;
    assert_eq!(scene.renew(&first, after(60)).await, Ok(Renewed::Held));
    assert_unclaimable(scene.try_claim(id, after(60)).await, Unclaimable::Held);
    let second = scene.claimed(id, after(61)).await;
    assert_eq!(scene.renew(&first, after(600)).await, Ok(Renewed::Lost));
    assert_eq!(scene.renew(&second, after(90)).await, Ok(Renewed::Held));
    scene.finish(&second, Transition::Deliver, after(62)).await;
    assert_eq!(scene.renew(&second, after(600)).await, Ok(Renewed::Lost));
}

/// A first attempt, and a retry: the claim leaves no trace but the version.
pub async fn a_row_that_is_given_back_is_free_and_due_as_before(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let (first, retry) = (scene.row(webhook).await, scene.failed(webhook).await);
    let now = after(60);
    for id in [first, retry] {
        let before = scene.stored(id).await;
        let attempts = scene.attempts(&scene.tenant, id).await;
        let claimed = scene.claimed(id, now).await;
        assert_eq!(scene.renew(&claimed, after(90)).await, Ok(Renewed::Held));
        assert_eq!(scene.give_back(&claimed, now).await, Ok(()));
        let freed = scene.stored(id).await;
        let expected = Delivery {
            version: freed.version,
            generation: freed.generation,
            ..before
        };
        assert_eq!(freed, expected);
        assert!(freed.version > claimed.version(), "late writes are fenced");
        assert_eq!(scene.attempts(&scene.tenant, id).await, attempts);
        fixture.flush().await;
        let due: Vec<_> = scene.backlog(now.plus(TICK)).await;
        assert!(due.iter().any(|(_, listed)| *listed == id), "{due:?}");
        scene.claimed(id, now).await;
    }
    assert_eq!(scene.health(webhook).await.failure_count, 1, "the retry's");
}

/// Not after another process has claimed the row, and not twice.
pub async fn only_its_holder_can_give_a_row_back(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let id = scene.row(scene.webhook().await.id).await;
    let first = scene.claimed(id, NOW).await;
    let second = scene.claimed(id, NOW.plus(LEASE).plus(TICK)).await;
    let held = scene.stored(id).await;
    assert_eq!(scene.give_back(&first, after(30)).await, Ok(()));
    assert_eq!(scene.stored(id).await, held);
    assert_eq!(scene.give_back(&second, after(30)).await, Ok(()));
    let freed = scene.stored(id).await;
    assert_eq!(scene.give_back(&second, after(30)).await, Ok(()));
    assert_eq!(scene.stored(id).await, freed);
    assert_eq!(scene.renew(&second, after(60)).await, Ok(Renewed::Lost));
}

/// More than AWS services accept in one call; one result each.
pub async fn a_batch_of_a_hundred_and_thirty_is_claimed_in_order(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let mut ids = Vec::new();
    for _ in 0..130 {
        ids.push(scene.row(webhook).await);
    }
    scene.claimed(ids[7], NOW).await;
    let wanted: Vec<Wanted> = ids.iter().map(|id| scene.wanted(*id, NOW)).collect();
    let claims = scene.handle.store.claim(wanted, NOW).await;
    assert_eq!(claims.len(), 130);
    for (n, claim) in claims.into_iter().enumerate() {
        match claim.unwrap() {
            Claim::Claimed(delivery) => assert_eq!(delivery.claimed.delivery().id, ids[n]),
            rejected => assert!(n == 7, "{n}: {rejected:?}"),
        }
    }
}

/// An attempt then counts for the current state of its webhook, whatever the worker has cached.
pub async fn a_claim_has_the_generation_of_its_webhooks_state(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let id = scene.row(webhook).await;
    for round in 1..3 {
        scene.set_status(webhook, WebhookStatus::Failed).await;
        let resumed = scene.set_status(webhook, WebhookStatus::Active).await;
        assert_eq!(resumed.unwrap().generation, 2 * round);
        let at = after(60 * u64::from(round));
        let wanted = scene.wanted(id, at);
        // Also when the first response was lost.
        for _ in 0..2 {
            let Claim::Claimed(delivery) = scene.claim_as(wanted.clone(), at).await else {
                panic!("it is free");
            };
            assert_eq!(delivery.claimed.delivery().generation, 2 * round);
        }
        assert_eq!(scene.stored(id).await.generation, 2 * round);
    }
}

fn assert_unclaimable(claim: Claim, why: Unclaimable) {
    match claim {
        Claim::Unclaimable(said) => assert_eq!(said, why),
        other => panic!("{other:?}, not {why:?}"),
    }
}
