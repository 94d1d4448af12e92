//! Announcements.

use std::time::Duration;

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
    assert_eq!(scene.newest_announcement().await, Ok(0));
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
    let newest = scene.newest_announcement().await.unwrap();
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

/// By what comes after it began to listen, and by what was there before.
pub async fn a_listener_is_woken(fixture: impl Fixture) {
    const LONG: Duration = Duration::from_secs(20);
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let seq = scene.newest_announcement().await.unwrap();
    let store = scene.handle.store.clone();
    let tenant = scene.tenant.clone();
    let listener = tokio::spawn(async move {
        loop {
            store.announcement_past(seq).await;
            let news = store.announced_after(&tenant, seq, 1).await.unwrap();
            if !news.is_empty() {
                break news;
            }
        }
    });
    scene.delivered(webhook).await;
    let news = tokio::time::timeout(LONG, listener).await.unwrap();
    assert_eq!(news.unwrap()[0].kind, "delivery.delivered");
    let there = scene.announcement_past(seq);
    tokio::time::timeout(LONG, there).await.unwrap();
}

/// Up to a limit, and younger ones stay.
pub async fn old_announcements_are_forgotten(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    for n in 0..6 {
        let id = scene.row_at(webhook, after(n)).await;
        scene.attempt(id, Transition::Deliver, after(n)).await;
    }
    fixture.flush().await;
    let all = scene.announcements().await;
    let forget = async |limit| {
        let forgotten = scene.forget_announcements(after(4), limit).await;
        forgotten.unwrap()
    };
    assert_eq!(forget(3).await, 3);
    assert_eq!(scene.announcements().await, all[3..]);
    assert_eq!(forget(100).await, 1);
    assert_eq!(forget(100).await, 0);
    assert_eq!(scene.announcements().await, all[4..]);
}

/// Else a listener who remembers a place would miss what took it.
pub async fn a_place_is_never_used_twice(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    scene.delivered(webhook).await;
    fixture.flush().await;
    let seq = scene.announcements().await[0].seq;
    let forgotten = scene.forget_announcements(after(1_000), 100).await;
    assert_eq!(forgotten, Ok(1));
    scene.delivered(webhook).await;
    fixture.flush().await;
    let news = scene.announced_after(&scene.tenant, seq, 10).await.unwrap();
    assert_eq!(news.len(), 1);
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
