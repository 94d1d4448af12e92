//! Which rows are due, and when the next one is.

use postrider_domain::decide::Transition;
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::{DeliveryId, WebhookId};
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::schedule::{AgendaEntry, Turn};

use super::scene::{LEASE, retry_at};
use super::{EmbeddedFixture, Scene};
use crate::builders::{NOW, after};

const TICK: Millis = Millis::new(1);

/// Overdue, future and held rows, of every tenant.
pub async fn the_agenda_has_one_entry_per_webhook_with_open_rows(fixture: impl EmbeddedFixture) {
    let scene = Scene::of(fixture.handle());
    let other = Scene::of_tenant(fixture.handle(), "other");
    let (due, later, held) = (
        scene.webhook().await.id,
        scene.webhook().await.id,
        scene.webhook().await.id,
    );
    let (done, parked) = (scene.webhook().await.id, scene.webhook().await.id);
    let theirs = other.webhook().await.id;
    for n in [5, 3, 9] {
        scene.row_at(due, after(n)).await;
    }
    scene.failed(later).await;
    let id = scene.row(held).await;
    scene.claimed(id, NOW).await;
    scene.delivered(done).await;
    scene.dead(done).await;
    scene.set_status(parked, WebhookStatus::Paused).await;
    scene.row(parked).await;
    other.row_at(theirs, after(7)).await;
    fixture.flush().await;
    let mut agenda = fixture.embedded().agenda(after(10)).await.unwrap();
    agenda.sort_by_key(|entry| (entry.tenant.clone(), entry.webhook));
    let entry = |scene: &Scene, webhook, due_at| AgendaEntry {
        tenant: scene.tenant.clone(),
        webhook,
        due_at,
    };
    let lease_ends = NOW.plus(LEASE).plus(TICK);
    assert_eq!(
        agenda,
        [
            entry(&scene, due, after(3)),
            entry(&scene, later, after(60)),
            entry(&scene, held, lease_ends),
            entry(&other, theirs, after(7)),
        ]
    );
}

/// Up to the limit.
pub async fn due_rows_come_longest_overdue_first(fixture: impl EmbeddedFixture) {
    let scene = Scene::of(fixture.handle());
    let (webhook, another) = (scene.webhook().await.id, scene.webhook().await.id);
    let mut ids = Vec::new();
    for n in [4, 0, 3, 1, 2, 6] {
        ids.push((after(n), scene.row_at(webhook, after(n)).await));
    }
    scene.row_at(another, after(1)).await;
    ids.sort();
    fixture.flush().await;
    let due: Vec<_> = due(&fixture, &scene, webhook, after(5), 10).await;
    assert_eq!(due, ids[..5]);
    let first: Vec<_> = self::due(&fixture, &scene, webhook, after(5), 2).await;
    assert_eq!(first, ids[..2]);
    let boundary = self::due(&fixture, &scene, webhook, after(2), 10).await;
    assert_eq!(boundary, ids[..3], "a row is due at its exact time");
}

/// They cannot be claimed.
pub async fn closed_parked_and_held_rows_are_not_due(fixture: impl EmbeddedFixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    scene.delivered(webhook).await;
    scene.dead(webhook).await;
    let held = scene.row(webhook).await;
    scene.claimed(held, NOW).await;
    let parked = scene.row(webhook).await;
    scene.set_status(webhook, WebhookStatus::Paused).await;
    scene.try_claim(parked, NOW).await;
    fixture.flush().await;
    assert_eq!(due(&fixture, &scene, webhook, after(5), 10).await, []);
}

/// Its holder may have died.
pub async fn a_row_whose_lease_has_expired_is_due_again(fixture: impl EmbeddedFixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let id = scene.row(webhook).await;
    let claimed = scene.claimed(id, NOW).await;
    fixture.flush().await;
    let last_instant = NOW.plus(LEASE);
    assert_eq!(due(&fixture, &scene, webhook, last_instant, 10).await, []);
    let again = due(&fixture, &scene, webhook, last_instant.plus(TICK), 10).await;
    assert_eq!(again, [(NOW, id)]);
    scene.renew(&claimed, after(50)).await.unwrap();
    fixture.flush().await;
    assert_eq!(due(&fixture, &scene, webhook, after(50), 10).await, []);
    scene.finish(&claimed, Transition::Deliver, after(50)).await;
    fixture.flush().await;
    assert_eq!(due(&fixture, &scene, webhook, after(500), 10).await, []);
    assert_eq!(fixture.embedded().agenda(after(500)).await, Ok(Vec::new()));
}

/// And rows with a turn from rows without one.
pub async fn retries_are_distinguished_from_first_attempts(fixture: impl EmbeddedFixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let first = scene.row_at(webhook, after(1)).await;
    let retry = scene.row_at(webhook, after(2)).await;
    scene.attempt(retry, retry_at(after(10)), after(2)).await;
    let paced = scene.row_at(webhook, after(3)).await;
    scene.attempt(paced, retry_at(after(11)), after(3)).await;
    let step = postrider_ports::deliveries::Move {
        tenant: scene.tenant.clone(),
        id: paced,
        seen: after(11),
        to: after(12),
    };
    scene.postpone(vec![step], after(11)).await.unwrap();
    fixture.flush().await;
    let rows = fixture
        .embedded()
        .due(&scene.tenant, webhook, after(20), 10)
        .await;
    let rows = rows.unwrap();
    let kinds: Vec<_> = rows
        .iter()
        .map(|row| (row.id, row.is_retry, row.turn == Turn::Set))
        .collect();
    assert_eq!(
        kinds,
        [
            (first, false, false),
            (retry, true, false),
            (paced, true, true)
        ]
    );
}

async fn due(
    fixture: &impl EmbeddedFixture,
    scene: &Scene,
    webhook: WebhookId,
    now: Timestamp,
    limit: usize,
) -> Vec<(Timestamp, DeliveryId)> {
    let store = fixture.embedded();
    let rows = store.due(&scene.tenant, webhook, now, limit).await;
    let rows = rows.unwrap().into_iter();
    rows.map(|row| (row.next_retry_at, row.id)).collect()
}
