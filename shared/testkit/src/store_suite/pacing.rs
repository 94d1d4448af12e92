//! Turns, `1 / rate` apart, and the rate that follows the responses of the receiver.

use std::collections::BTreeSet;
use std::sync::Arc;

use postrider_domain::ids::WebhookId;
use postrider_domain::pace::{Asked, Pace, Signal};
use postrider_domain::time::{Millis, Timestamp};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::{Fixture, Scene};
use crate::builders::{NOW, after, webhook_id};

/// As many as requested, however far ahead.
pub(super) const fn asked(count: usize, per_second: u32) -> Asked {
    Asked {
        count,
        per_second,
        until: Timestamp::from_millis(i64::MAX),
    }
}

fn at(ms: u64) -> Timestamp {
    NOW.plus(Millis::new(ms))
}

async fn reserve(scene: &Scene, webhook: u32, asked: Asked, now: Timestamp) -> Vec<Timestamp> {
    let given = scene.reserve(&scene.tenant, webhook_id(webhook), asked, now);
    given.await.unwrap().turns
}

async fn report(scene: &Scene, webhook: WebhookId, signal: Signal, now: Timestamp) {
    let reported = scene.report(&scene.tenant, webhook, signal, 8, now);
    reported.await.unwrap();
}

pub(super) async fn pace(scene: &Scene, webhook: WebhookId) -> Pace {
    scene.paces(&scene.tenant, &[webhook]).await.unwrap()[0]
}

/// The first at once, the next ones later; unused time does not accumulate.
pub async fn turns_are_spaced(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let take = async |count, now| reserve(&scene, 1, asked(count, 5), now).await;
    assert_eq!(take(3, NOW).await, [at(0), at(200), at(400)]);
    assert_eq!(take(2, NOW).await, [at(600), at(800)]);
    assert_eq!(take(1, at(900)).await, [at(1000)]);
    assert_eq!(take(2, after(60)).await, [at(60_000), at(60_200)]);
    assert_eq!(take(0, after(60)).await, []);
}

/// Whichever process asks.
pub async fn no_turn_is_given_twice(fixture: impl Fixture) {
    const CALLERS: usize = 16;
    let ours = Arc::new(Scene::of(fixture.handle()));
    let theirs = Arc::new(Scene::of(fixture.another_process().await));
    let barrier = Arc::new(Barrier::new(CALLERS));
    let mut callers = JoinSet::new();
    for n in 0..CALLERS {
        let scene = if n % 2 == 0 { &ours } else { &theirs };
        let (scene, barrier) = (scene.clone(), barrier.clone());
        callers.spawn(async move {
            barrier.wait().await;
            reserve(&scene, 1, asked(3, 10), NOW).await
        });
    }
    let turns = callers.join_all().await.concat();
    let once: BTreeSet<Timestamp> = turns.into_iter().collect();
    let expected = (0..48).map(|n| at(n * 100)).collect();
    assert_eq!(once, expected);
}

/// And so do tenants.
pub async fn webhooks_have_turns_of_their_own(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let other = Scene::of_tenant(fixture.handle(), "other");
    for (scene, webhook) in [(&scene, 1), (&scene, 2), (&other, 1)] {
        assert_eq!(reserve(scene, webhook, asked(1, 1), NOW).await, [NOW]);
    }
}

/// Fewer are given, and none is wasted.
pub async fn no_turn_is_given_later_than_requested(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let soon = Asked {
        until: at(500),
        ..asked(10, 5)
    };
    assert_eq!(
        reserve(&scene, 1, soon, NOW).await,
        [at(0), at(200), at(400)]
    );
    assert_eq!(reserve(&scene, 1, soon, NOW).await, []);
    assert_eq!(reserve(&scene, 1, asked(1, 5), NOW).await, [at(600)]);
}

/// The rates of other webhooks do not change.
pub async fn a_receiver_that_cannot_keep_up_is_slowed_and_sped_up_again(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let (slow, other) = (webhook_id(1), webhook_id(2));
    assert_eq!(pace(&scene, slow).await, Pace::default());
    report(&scene, slow, Signal::TooFast, NOW).await;
    assert_eq!(pace(&scene, slow).await.rate_milli(8), 4000);
    let given = scene.reserve(&scene.tenant, slow, asked(2, 8), NOW).await;
    let given = given.unwrap();
    assert_eq!((given.turns, given.slowed), (vec![at(0), at(250)], true));
    report(&scene, slow, Signal::TooFast, after(1)).await;
    assert_eq!(pace(&scene, slow).await.rate_milli(8), 2000);
    for second in 2..9 {
        report(&scene, slow, Signal::Fine, after(second)).await;
    }
    assert_eq!(pace(&scene, slow).await.slowed, None);
    let given = scene.reserve(&scene.tenant, slow, asked(2, 8), after(9));
    let given = given.await.unwrap();
    assert_eq!(
        (given.turns, given.slowed),
        (vec![at(9000), at(9125)], false)
    );
    let both = scene.paces(&scene.tenant, &[other, slow]).await.unwrap();
    assert_eq!(both[0], Pace::default());
    assert_eq!(both[1], pace(&scene, slow).await);
}

/// Whichever process reports them.
pub async fn overload_reports_that_arrive_together_halve_the_rate_once(fixture: impl Fixture) {
    const CALLERS: u64 = 8;
    let ours = Arc::new(Scene::of(fixture.handle()));
    let theirs = Arc::new(Scene::of(fixture.another_process().await));
    let barrier = Arc::new(Barrier::new(8));
    let mut callers = JoinSet::new();
    for n in 0..CALLERS {
        let scene = if n % 2 == 0 { &ours } else { &theirs };
        let (scene, barrier) = (scene.clone(), barrier.clone());
        callers.spawn(async move {
            barrier.wait().await;
            report(&scene, webhook_id(1), Signal::TooFast, at(n)).await;
        });
    }
    callers.join_all().await;
    assert_eq!(pace(&ours, webhook_id(1)).await.rate_milli(8), 4000);
}
