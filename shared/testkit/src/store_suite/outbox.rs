//! Announcements.

use postrider_domain::decide::Transition;
use postrider_domain::delivery::DeadCause;
use postrider_domain::event::{Event, Origin};
use postrider_ports::deliveries::Accepted;
use serde_json::Value;

use super::scene::{die, retry_at};
use super::{Fixture, Scene};
use crate::builders::{NOW, after, source_id};

/// With places that grow, and pages by place.
pub async fn changes_are_announced_in_order(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    assert_eq!(scene.newest_notification(&scene.tenant).await, Ok(0));
    let id = scene.row(webhook).await;
    scene.attempt(id, retry_at(after(60)), NOW).await;
    scene.attempt(id, retry_at(after(120)), after(60)).await;
    scene
        .attempt(id, die(DeadCause::Rejected), after(120))
        .await;
    fixture.flush().await;
    let all = scene.notifications().await;
    let kinds: Vec<&str> = all.iter().map(|one| one.kind.as_str()).collect();
    assert_eq!(
        kinds,
        [
            "delivery.failed",
            "delivery.failed",
            "delivery.dead",
            "webhook.degraded"
        ]
    );
    assert!(all.is_sorted_by(|a, b| a.seq < b.seq));
    let newest = scene.newest_notification(&scene.tenant).await.unwrap();
    assert_eq!(newest, all[3].seq);
    let after_first = scene
        .notifications_after(&scene.tenant, all[0].seq, 2)
        .await;
    assert_eq!(after_first.unwrap(), all[1..3]);
    let none = scene.notifications_after(&scene.tenant, newest, 10).await;
    assert_eq!(none, Ok(Vec::new()));
}

/// CloudEvents with ids that are the same for the same change.
pub async fn announcements_say_what_happened(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let id = scene.dead(webhook).await;
    fixture.flush().await;
    let announced = scene.notifications().await;
    let event: Value = serde_json::from_str(&announced[0].event).unwrap();
    let version = scene.stored(id).await.version;
    assert_eq!(event["id"], format!("{id}/{version}/delivery.dead"));
    assert_eq!(event["type"], "delivery.dead");
    assert_eq!(event["source"], "gateway:webhooks");
    assert_eq!(event["tenant"], scene.tenant.as_str());
    assert_eq!(event["data"]["webhook_delivery_id"], id.to_string());
    assert_eq!(event["data"]["name"], "WebhookDLQEvent");
    assert!(!announced[0].event.contains("whsec_"));
}

/// Claims and renewals are nobody's business either.
pub async fn what_is_not_applied_is_not_announced(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let id = scene.row(webhook).await;
    let claimed = scene.claimed(id, NOW).await;
    scene.renew(&claimed, after(40)).await.unwrap();
    let second = scene.claimed(id, after(60)).await;
    scene.finish(&claimed, Transition::Deliver, after(61)).await;
    assert_eq!(second.delivery().attempts_total, 0);
    fixture.flush().await;
    assert_eq!(scene.notification_kinds().await, Vec::<String>::new());
}

/// Whether a route wants it or not; a repeated delivery announces nothing new.
pub async fn what_a_source_sent_is_announced_once(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let sent = |at| Event {
        origin: Origin::Source(source_id(1)),
        ..scene.event(at)
    };
    let (routed, unrouted) = (sent(NOW), sent(after(1)));
    for (event, webhooks) in [(&routed, &[webhook][..]), (&unrouted, &[])] {
        let acceptance = scene.plan(event.clone(), webhooks).await;
        scene.accept_new(acceptance.clone()).await;
        let again = scene.accept_one(acceptance).await;
        assert!(matches!(again, Ok(Accepted::Duplicate { .. })), "{again:?}");
    }
    fixture.flush().await;
    let announced = scene.notifications().await;
    let events = announced.iter().map(|one| serde_json::from_str(&one.event));
    let events: Vec<Value> = events.collect::<Result<_, _>>().unwrap();
    assert_eq!(events.len(), 2, "{announced:?}");
    let expected = [
        (&routed, "inbound.accepted", 1),
        (&unrouted, "inbound.unrouted", 0),
    ];
    for (event, kind, deliveries) in expected {
        let id = format!("{}/0/{kind}", event.id);
        let told = events.iter().find(|told| told["id"] == id.as_str());
        let told = told.unwrap_or_else(|| panic!("{kind}: {announced:?}"));
        assert_eq!(told["type"], kind);
        assert_eq!(told["time"], event.created_at.to_string());
        let data = serde_json::json!({
            "event_id": event.id, "event_type": event.event_type,
            "source_id": source_id(1), "deliveries": deliveries,
        });
        assert_eq!(told["data"], data);
    }
}

/// Its publisher knows of it.
pub async fn what_was_published_is_not_announced(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    scene.row(webhook).await;
    let unwanted = scene.plan(scene.event(NOW), &[]).await;
    scene.accept_new(unwanted).await;
    fixture.flush().await;
    assert_eq!(scene.notification_kinds().await, Vec::<String>::new());
}
