//! Counters by hour and webhook.

use postrider_domain::decide::Transition;
use postrider_domain::delivery::{DeadCause, Force};
use postrider_domain::stats::{LATENCY_BOUNDS_MS, StatsDelta};
use postrider_domain::time::Timestamp;
use postrider_ports::history::HourlyStats;

use super::scene::{die, retry_at};
use super::{Fixture, Scene};
use crate::builders::{NOW, after};

/// Compared with a count of every change of every row.
pub async fn counters_agree_with_the_attempts(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let mut expected = HourlyStats {
        webhook,
        hour: NOW.hour(),
        delivered: 0,
        dead: 0,
        attempts: 0,
        retried: 0,
        retries: 0,
        latency: vec![0; LATENCY_BOUNDS_MS.len() + 1],
        published: 12,
        bytes: 0,
    };
    for n in 0..12_u64 {
        let id = scene.row_at(webhook, after(n)).await;
        let event = scene.handle.store.event(&scene.tenant, id.event).await;
        expected.bytes += event.unwrap().unwrap().body.len() as u64;
        let last = match n % 3 {
            0 => Transition::Deliver,
            1 => die(DeadCause::Exhausted),
            _ => retry_at(after(3_000)),
        };
        for turn in 0..n % 4 {
            let (at, next) = (after(n + 60 * turn), after(n + 60 * (turn + 1)));
            step(&scene, &mut expected, id, retry_at(next), at).await;
        }
        step(&scene, &mut expected, id, last, after(n + 60 * (n % 4))).await;
    }
    fixture.flush().await;
    assert_eq!(expected.delivered + expected.dead, 8);
    let all = stats(&scene, NOW.hour(), after(7_200)).await;
    assert_eq!(all, [expected]);
}

async fn step(
    scene: &Scene,
    expected: &mut HourlyStats,
    id: postrider_domain::ids::DeliveryId,
    transition: Transition,
    at: Timestamp,
) {
    let before = scene.stored(id).await;
    let row = scene.attempt(id, transition, at).await;
    let delta = StatsDelta::of_change(&before, &row, at).unwrap();
    expected.delivered += u64::from(delta.delivered);
    expected.dead += u64::from(delta.dead);
    expected.attempts += u64::from(delta.attempts);
    expected.retried += u64::from(delta.retried);
    expected.retries += u64::from(delta.retries);
    if let Some(bucket) = delta.latency_bucket {
        expected.latency[usize::from(bucket)] += 1;
    }
}

/// The hour is the one of the change.
pub async fn counters_are_kept_by_hour_and_webhook(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let other = Scene::of_tenant(fixture.handle(), "other");
    let (a, b) = (scene.webhook().await.id, scene.webhook().await.id);
    let hour = |n: u64| after(3_600 * n);
    for (webhook, at) in [(a, hour(0)), (a, hour(1)), (b, hour(1)), (a, hour(5))] {
        let id = scene.row_at(webhook, at).await;
        scene.attempt(id, Transition::Deliver, at).await;
    }
    other.delivered(other.webhook().await.id).await;
    fixture.flush().await;
    let keys = |stats: Vec<HourlyStats>| {
        let mut keys: Vec<_> = stats.iter().map(|one| (one.webhook, one.hour)).collect();
        keys.sort();
        keys
    };
    let (h0, h1, h5) = (hour(0).hour(), hour(1).hour(), hour(5).hour());
    let all = stats(&scene, h0, hour(9)).await;
    assert_eq!(keys(all), [(a, h0), (a, h1), (a, h5), (b, h1)]);
    let until_excluded = stats(&scene, h1, h5).await;
    assert_eq!(keys(until_excluded), [(a, h1), (b, h1)]);
    let of_one = scene.stats(&scene.tenant, Some(a), h0, h5).await;
    assert_eq!(keys(of_one.unwrap()), [(a, h0), (a, h1)]);
    // A requeued row is counted again when it is finished again.
    let id = scene.dead(b).await;
    let requeued = scene.requeue(&scene.tenant, id, Force::No, NOW).await;
    requeued.unwrap();
    scene.attempt(id, Transition::Deliver, NOW).await;
    fixture.flush().await;
    let of_b = scene.stats(&scene.tenant, Some(b), h0, h1).await.unwrap();
    assert_eq!(
        (of_b[0].delivered, of_b[0].dead, of_b[0].attempts),
        (1, 1, 2)
    );
}

/// An event counts once, however many webhooks it is for and however often it is attempted or requeued.
pub async fn a_published_event_counts_once_with_its_bytes(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhooks = [scene.webhook().await.id, scene.webhook().await.id];
    let event = scene.event(NOW);
    let bytes = event.body.len() as u64;
    let acceptance = scene.plan(event, &webhooks).await;
    let rows: Vec<_> = acceptance.rows.iter().map(|row| row.id).collect();
    scene.accept_new(acceptance).await;
    for id in &rows {
        scene.attempt(*id, retry_at(after(60)), NOW).await;
        scene.attempt(*id, Transition::Deliver, after(60)).await;
    }
    let requeued = scene.requeue(&scene.tenant, rows[0], Force::Delivered, after(61));
    requeued.await.unwrap();
    scene.attempt(rows[0], Transition::Deliver, after(61)).await;
    scene
        .accept_new(scene.plan(scene.event(NOW), &[]).await)
        .await;
    fixture.flush().await;
    let all = stats(&scene, NOW.hour(), after(7_200)).await;
    let published: u64 = all.iter().map(|one| one.published).sum();
    assert_eq!((all.len(), published), (2, 1));
    assert_eq!(all.iter().map(|one| one.bytes).sum::<u64>(), bytes);
}

/// Otherwise the usage of a tenant would shrink when it deletes a webhook.
pub async fn counters_of_a_deleted_webhook_stay(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    scene.delivered(webhook).await;
    fixture.flush().await;
    let before = stats(&scene, NOW.hour(), after(7_200)).await;
    let deleted = scene.delete_webhook(&scene.tenant, webhook, NOW).await;
    assert_eq!(deleted, Ok(true));
    let after = stats(&scene, NOW.hour(), after(7_200)).await;
    assert_eq!(after, before);
    assert_eq!(after[0].delivered, 1);
}

async fn stats(scene: &Scene, from: Timestamp, to: Timestamp) -> Vec<HourlyStats> {
    let stats = scene
        .handle
        .store
        .stats(&scene.tenant, None, from, to)
        .await;
    stats.unwrap()
}
