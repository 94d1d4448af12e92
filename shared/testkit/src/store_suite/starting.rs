//! Rows that are inserted already claimed, because their first attempt starts at once in the same process.

use std::sync::Arc;

use postrider_domain::decide::Transition;
use postrider_domain::delivery::{Status, Unclaimable};
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::WebhookId;
use postrider_ports::deliveries::{Acceptance, Accepted, Applied, Claim, ClaimedDelivery};
use postrider_ports::start_now::{Planned, Reservation};

use super::scene::LEASE;
use super::{EmbeddedFixture, Scene};
use crate::builders::{self, NOW};

async fn accept(
    fixture: &impl EmbeddedFixture,
    scene: &Scene,
    acceptance: Acceptance,
    reserved: WebhookId,
) -> Vec<ClaimedDelivery> {
    let reservation = Reservation {
        webhook: reserved,
        lease: builders::lease(&scene.handle.process, 99, NOW.plus(LEASE)),
    };
    let planned = Planned {
        acceptance,
        reserved: vec![reservation],
    };
    let mut accepted = fixture.embedded().accept_claimed(vec![planned]).await;
    match accepted.remove(0) {
        Ok((Accepted::New, claimed)) => claimed,
        other => panic!("{other:?}"),
    }
}

/// The first attempt starts without another call, and is applied like any other.
pub async fn a_row_can_be_accepted_already_claimed(fixture: impl EmbeddedFixture) {
    let scene = Scene::of(fixture.handle());
    let (a, b) = (scene.webhook().await.id, scene.webhook().await.id);
    let acceptance = scene.plan(scene.event(NOW), &[a, b]).await;
    let ids: Vec<_> = acceptance.rows.iter().map(|row| row.id).collect();
    let event = Arc::clone(&acceptance.event);
    let claimed = accept(&fixture, &scene, acceptance, a).await;
    assert_eq!(claimed.len(), 1);
    let delivery = &claimed[0];
    assert_eq!(delivery.event, event);
    assert_eq!(
        (delivery.claimed.delivery().id, delivery.claimed.version()),
        (ids[0], 1)
    );
    assert_eq!(scene.stored(ids[0]).await, *delivery.claimed.delivery());
    assert_eq!(scene.stored(ids[1]).await.lease_owner, None);
    let applied = scene
        .finish(&delivery.claimed, Transition::Deliver, NOW)
        .await;
    assert!(matches!(applied, Applied::Done(row) if row.status == Status::Delivered));
}

pub async fn a_reserved_row_of_a_stopped_webhook_is_not_claimed(fixture: impl EmbeddedFixture) {
    let scene = Scene::of(fixture.handle());
    for status in [WebhookStatus::Paused, WebhookStatus::Failed] {
        let webhook = scene.webhook().await.id;
        scene.set_status(webhook, status).await;
        let acceptance = scene.plan(scene.event(NOW), &[webhook]).await;
        let id = acceptance.rows[0].id;
        let claimed = accept(&fixture, &scene, acceptance, webhook).await;
        assert!(claimed.is_empty());
        let row = scene.stored(id).await;
        assert!(row.lease_owner.is_none());
        let claim = scene.try_claim(id, NOW).await;
        assert!(matches!(claim, Claim::Unclaimable(Unclaimable::InBacklog)));
    }
}
