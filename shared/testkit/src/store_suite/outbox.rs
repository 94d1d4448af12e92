//! Notifications.

use postrider_domain::decide::Transition;
use postrider_domain::delivery::DeadCause;
use postrider_domain::event::{Event, Origin};
use postrider_ports::deliveries::Accepted;
use serde_json::Value;

use super::scene::{die, retry_at};
use super::{Fixture, Scene};
use crate::builders::{NOW, after, source_id};

/// With increasing positions, and pages by position.
pub async fn changes_are_notified_in_order(fixture: impl Fixture) {
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
pub async fn notifications_describe_the_change(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let id = scene.dead(webhook).await;
    fixture.flush().await;
    let notifications = scene.notifications().await;
    let event: Value = serde_json::from_str(&notifications[0].event).unwrap();
    let version = scene.stored(id).await.version;
    assert_eq!(event["id"], format!("{id}/{version}/delivery.dead"));
    assert_eq!(event["type"], "delivery.dead");
    assert_eq!(event["source"], "gateway:webhooks");
    assert_eq!(event["tenant"], scene.tenant.as_str());
    assert_eq!(event["data"]["webhook_delivery_id"], id.to_string());
    assert_eq!(event["data"]["name"], "WebhookDLQEvent");
    assert!(!notifications[0].event.contains("whsec_"));
}

/// Nor are claims and renewals.
pub async fn changes_that_are_not_applied_are_not_notified(fixture: impl Fixture) {
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

/// Whether or not a route matches; a repeated request is not notified again.
pub async fn an_inbound_event_is_notified_once(fixture: impl Fixture) {
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
    let notifications = scene.notifications().await;
    let events = notifications
        .iter()
        .map(|one| serde_json::from_str(&one.event));
    let events: Vec<Value> = events.collect::<Result<_, _>>().unwrap();
    assert_eq!(events.len(), 2, "{notifications:?}");
    let expected = [
        (&routed, "inbound.accepted", 1),
        (&unrouted, "inbound.unrouted", 0),
    ];
    for (event, kind, deliveries) in expected {
        let id = format!("{}/0/{kind}", event.id);
        let found = events.iter().find(|event| event["id"] == id.as_str());
        let found = found.unwrap_or_else(|| panic!("{kind}: {notifications:?}"));
        assert_eq!(found["type"], kind);
        assert_eq!(found["time"], event.created_at.to_string());
        let data = serde_json::json!({
            "event_id": event.id, "event_type": event.event_type,
            "source_id": source_id(1), "deliveries": deliveries,
        });
        assert_eq!(found["data"], data);
    }
}

/// Its publisher already knows.
pub async fn a_published_event_is_not_notified(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    scene.row(webhook).await;
    let unwanted = scene.plan(scene.event(NOW), &[]).await;
    scene.accept_new(unwanted).await;
    fixture.flush().await;
    assert_eq!(scene.notification_kinds().await, Vec::<String>::new());
}
