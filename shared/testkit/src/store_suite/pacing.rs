//! Turns, `1 / rate` apart.

use std::collections::BTreeSet;
use std::sync::Arc;

use postrider_domain::time::{Millis, Timestamp};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::{Fixture, Scene};
use crate::builders::{NOW, after, webhook_id};

/// The first at once, the next ones later; time that passes unused does not pile up.
pub async fn turns_are_spaced(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let reserve = async |count, now| {
        let turns = scene.reserve(&scene.tenant, webhook_id(1), count, 5, now);
        turns.await.unwrap()
    };
    let at = |ms| NOW.plus(Millis::new(ms));
    assert_eq!(reserve(3, NOW).await, [at(0), at(200), at(400)]);
    assert_eq!(reserve(2, NOW).await, [at(600), at(800)]);
    assert_eq!(reserve(1, at(900)).await, [at(1000)]);
    assert_eq!(reserve(2, after(60)).await, [at(60_000), at(60_200)]);
    assert_eq!(reserve(0, after(60)).await, []);
}

/// Whoever asks, from whatever process.
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
            let turns = scene.reserve(&scene.tenant, webhook_id(1), 3, 10, NOW);
            turns.await.unwrap()
        });
    }
    let turns = callers.join_all().await.concat();
    let once: BTreeSet<Timestamp> = turns.into_iter().collect();
    let expected = (0..48).map(|n| NOW.plus(Millis::new(n * 100))).collect();
    assert_eq!(once, expected);
}

/// And so have tenants.
pub async fn webhooks_have_turns_of_their_own(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let other = Scene::of_tenant(fixture.handle(), "other");
    for (scene, webhook) in [(&scene, 1), (&scene, 2), (&other, 1)] {
        let turns = scene.reserve(&scene.tenant, webhook_id(webhook), 1, 1, NOW);
        assert_eq!(turns.await, Ok(vec![NOW]));
    }
}
