//! Open rows by the time they are due.

use postrider_domain::decide::Transition;
use postrider_domain::delivery::Unclaimable;
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::DeliveryId;
use postrider_domain::time::Millis;
use postrider_ports::deliveries::Claim;

use super::scene::retry_at;
use super::{Fixture, Scene};
use crate::builders::{NOW, after};

/// Including its start and excluding its end, for every webhook.
pub async fn a_time_range_contains_the_open_rows_due_in_it(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let (one, another) = (scene.webhook().await.id, scene.webhook().await.id);
    let mut rows = Vec::new();
    for (n, webhook) in [(4, one), (0, another), (3, one), (1, one), (2, another)] {
        rows.push((after(n), scene.row_at(webhook, after(n)).await));
    }
    rows.sort();
    fixture.flush().await;
    assert_eq!(scene.backlog(after(5)).await, rows);
    assert_eq!(scene.backlog(after(4)).await, rows[..4], "not its end");
    let tick = after(3).plus(Millis::new(1));
    assert_eq!(scene.backlog(tick).await, rows[..4]);
}

/// A queue message cannot be sent for it yet.
pub async fn a_row_due_far_ahead_waits_for_its_window(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let (soon, late) = (scene.row(webhook).await, scene.row(webhook).await);
    scene.attempt(soon, retry_at(after(900)), NOW).await;
    scene.attempt(late, retry_at(after(3_600)), NOW).await;
    fixture.flush().await;
    assert_eq!(scene.backlog(after(901)).await, [(after(900), soon)]);
    let all = [(after(900), soon), (after(3_600), late)];
    assert_eq!(scene.backlog(after(3_601)).await, all);
    scene.attempt(soon, Transition::Deliver, after(900)).await;
    fixture.flush().await;
    assert_eq!(scene.backlog(after(3_601)).await, all[1..]);
}

/// No queue message must be sent for them. Accepting a row does not look at its webhook's status; the first claim does.
pub async fn closed_and_stopped_rows_are_in_no_general_lane(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    scene.delivered(webhook).await;
    scene.dead(webhook).await;
    scene.set_status(webhook, WebhookStatus::Paused).await;
    let id = scene.row(webhook).await;
    let claim = scene.try_claim(id, NOW).await;
    assert!(matches!(claim, Claim::Unclaimable(Unclaimable::InBacklog)));
    fixture.flush().await;
    assert_eq!(scene.backlog(after(100_000)).await, []);
}

/// Its holder may have died, and an extra queue message is harmless.
pub async fn a_held_row_stays_in_the_backlog(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let id = scene.row(webhook).await;
    scene.claimed(id, NOW).await;
    fixture.flush().await;
    assert_eq!(scene.backlog(after(1)).await, [(NOW, id)]);
}

/// Also when many rows are due at the same instant.
pub async fn pages_of_a_time_range_reach_its_end(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let (one, another) = (scene.webhook().await.id, scene.webhook().await.id);
    let mut rows = Vec::new();
    for n in 0..9 {
        let at = after(n / 5);
        let event = scene.event(at);
        let id = event.id;
        let acceptance = scene.plan(event, &[one, another]).await;
        scene.accept_new(acceptance).await;
        for webhook in [one, another] {
            rows.push((at, DeliveryId { event: id, webhook }));
        }
    }
    rows.sort();
    fixture.flush().await;
    for page in [1, 4, 100] {
        assert_eq!(scene.backlog_in_pages(after(10), page).await, rows);
    }
}
