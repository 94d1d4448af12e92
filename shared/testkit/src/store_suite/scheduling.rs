//! Which rows are due, and when the next one is.

use postrider_domain::decide::Transition;
use postrider_domain::flow::AttemptKind;
use postrider_domain::ids::{DeliveryId, WebhookId};
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::schedule::{AgendaEntry, AgendaPage, Ask};

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
    let done = scene.webhook().await.id;
    let theirs = other.webhook().await.id;
    for n in [5, 3, 9] {
        scene.row_at(due, after(n)).await;
    }
    scene.failed(later).await;
    let id = scene.row(held).await;
    scene.claimed(id, NOW).await;
    scene.delivered(done).await;
    scene.dead(done).await;
    other.row_at(theirs, after(7)).await;
    fixture.flush().await;
    let agenda = fixture.embedded().agenda(None, 100, after(10)).await;
    let mut agenda = agenda.unwrap().entries;
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
pub async fn closed_and_held_rows_are_not_due(fixture: impl EmbeddedFixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    scene.delivered(webhook).await;
    scene.dead(webhook).await;
    let held = scene.row(webhook).await;
    scene.claimed(held, NOW).await;
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
    let agenda = fixture.embedded().agenda(None, 100, after(500)).await;
    assert_eq!(agenda, Ok(AgendaPage::default()));
}

/// However many webhooks have open rows.
pub async fn pages_of_the_agenda_reach_its_end(fixture: impl EmbeddedFixture) {
    let scene = Scene::of(fixture.handle());
    let mut webhooks = Vec::new();
    for n in 0..5 {
        let webhook = scene.webhook().await.id;
        scene.row_at(webhook, after(n)).await;
        webhooks.push(webhook);
    }
    webhooks.sort();
    fixture.flush().await;
    let (mut seen, mut last) = (Vec::new(), None);
    for expected in [2, 2, 1] {
        let page = fixture.embedded().agenda(last.as_ref(), 2, NOW).await;
        let page = page.unwrap();
        assert_eq!(page.entries.len(), expected);
        seen.extend(page.entries.iter().map(|entry| entry.webhook));
        last = page.next;
    }
    assert_eq!(last, None);
    seen.sort();
    assert_eq!(seen, webhooks);
}

/// A retry may have to wait for its rate, and must not hold up the first attempts behind it.
pub async fn first_attempts_and_retries_are_read_separately(fixture: impl EmbeddedFixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let (one, two) = (
        scene.row_at(webhook, after(1)).await,
        scene.row_at(webhook, after(2)).await,
    );
    for retried in [one, two] {
        scene.attempt(retried, retry_at(after(10)), after(2)).await;
    }
    let (first, later) = (
        scene.row_at(webhook, after(11)).await,
        scene.row_at(webhook, after(90)).await,
    );
    fixture.flush().await;
    let asks = [
        Ask::all(AttemptKind::Retry, 1),
        Ask::all(AttemptKind::First, 5),
        Ask::all(AttemptKind::Retry, 0),
    ];
    let store = fixture.embedded();
    let found = store.due(&scene.tenant, webhook, &asks, after(20)).await;
    let found = found.unwrap();
    let rows = |n: usize| found[n].rows.iter().map(|row| row.id).collect::<Vec<_>>();
    assert_eq!(rows(0).len(), 1);
    assert!([one, two].contains(&rows(0)[0]));
    assert!(found[0].rows.iter().all(|row| row.is_retry));
    assert_eq!(found[0].next_at, Some(after(10)), "another retry is due");
    assert_eq!(rows(1), [first]);
    assert_eq!(
        found[1].next_at,
        Some(after(90)),
        "when the next one is due"
    );
    assert_eq!((rows(2), found[2].next_at), (vec![], Some(after(10))));
    scene.attempt(later, retry_at(after(99)), after(90)).await;
}

/// Its end excluded.
pub async fn due_rows_can_be_read_from_a_range_of_time(fixture: impl EmbeddedFixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let mut ids = Vec::new();
    for n in 0..6 {
        ids.push(scene.row_at(webhook, after(n)).await);
    }
    fixture.flush().await;
    let (all, boundary) = (Ask::all(AttemptKind::First, 10), after(3));
    let asks = [
        Ask {
            until: boundary,
            ..all
        },
        Ask {
            from: boundary,
            ..all
        },
    ];
    let store = fixture.embedded();
    let found = store.due(&scene.tenant, webhook, &asks, after(4)).await;
    let found = found.unwrap();
    let rows = |n: usize| found[n].rows.iter().map(|row| row.id).collect::<Vec<_>>();
    assert_eq!((rows(0), found[0].next_at), (ids[..3].to_vec(), None));
    assert_eq!(
        (rows(1), found[1].next_at),
        (ids[3..5].to_vec(), Some(after(5)))
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
    let asks = [AttemptKind::First, AttemptKind::Retry].map(|kind| Ask::all(kind, limit));
    let found = store.due(&scene.tenant, webhook, &asks, now).await.unwrap();
    let rows = found.into_iter().flat_map(|found| found.rows);
    rows.map(|row| (row.next_retry_at, row.id)).collect()
}
