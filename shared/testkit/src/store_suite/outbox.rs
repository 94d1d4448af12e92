//! Announcements.

use postrider_domain::decide::Transition;
use postrider_domain::delivery::DeadCause;
use serde_json::Value;

use super::scene::{die, retry_at};
use super::{Fixture, Scene};
use crate::builders::{NOW, after};

/// With places that grow, and pages by place.
pub async fn changes_are_announced_in_order(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    assert_eq!(scene.newest_announcement(&scene.tenant).await, Ok(0));
    let id = scene.row(webhook).await;
    scene.attempt(id, retry_at(after(60)), NOW).await;
    scene.attempt(id, retry_at(after(120)), after(60)).await;
    scene
        .attempt(id, die(DeadCause::Rejected), after(120))
        .await;
    fixture.flush().await;
    let all = scene.announcements().await;
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
    let newest = scene.newest_announcement(&scene.tenant).await.unwrap();
    assert_eq!(newest, all[3].seq);
    let after_first = scene.announced_after(&scene.tenant, all[0].seq, 2).await;
    assert_eq!(after_first.unwrap(), all[1..3]);
    let none = scene.announced_after(&scene.tenant, newest, 10).await;
    assert_eq!(none, Ok(Vec::new()));
}

/// CloudEvents with ids that are the same for the same change.
pub async fn announcements_say_what_happened(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let id = scene.dead(webhook).await;
    fixture.flush().await;
    let announced = scene.announcements().await;
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
    assert_eq!(scene.announced_kinds().await, Vec::<String>::new());
}
