//! Waiting for notifications and removing old ones.

use std::time::Duration;

use postrider_domain::decide::Transition;

use super::{EmbeddedFixture, Scene};
use crate::builders::{NOW, after};

/// By notifications from before and after it started to listen.
pub async fn a_listener_is_woken(fixture: impl EmbeddedFixture) {
    const LONG: Duration = Duration::from_secs(20);
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let seq = scene.newest_notification(&scene.tenant).await.unwrap();
    let store = fixture.embedded();
    let tenant = scene.tenant.clone();
    let listener = tokio::spawn(async move {
        loop {
            store.notification_past(seq).await;
            let news = store.notifications_after(&tenant, seq, 1).await.unwrap();
            if !news.is_empty() {
                break news;
            }
        }
    });
    scene.delivered(webhook).await;
    let news = tokio::time::timeout(LONG, listener).await.unwrap();
    assert_eq!(news.unwrap()[0].kind, "delivery.delivered");
    let store = fixture.embedded();
    let there = store.notification_past(seq);
    tokio::time::timeout(LONG, there).await.unwrap();
}

/// Up to a limit; newer ones stay.
pub async fn old_notifications_are_removed(fixture: impl EmbeddedFixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    for n in 0..6 {
        let id = scene.row_at(webhook, after(n)).await;
        scene.attempt(id, Transition::Deliver, after(n)).await;
    }
    fixture.flush().await;
    let all = scene.notifications().await;
    let forget = async |limit| {
        let forgotten = fixture
            .embedded()
            .delete_old_notifications(after(4), limit, after(10))
            .await;
        forgotten.unwrap()
    };
    assert_eq!(forget(3).await, 3);
    assert_eq!(scene.notifications().await, all[3..]);
    assert_eq!(forget(100).await, 1);
    assert_eq!(forget(100).await, 0);
    assert_eq!(scene.notifications().await, all[4..]);
}

/// Otherwise a listener that remembers a position would miss the notification that reused it.
pub async fn a_position_is_never_used_twice(fixture: impl EmbeddedFixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    scene.delivered(webhook).await;
    fixture.flush().await;
    let seq = scene.notifications().await[0].seq;
    let forgotten = fixture
        .embedded()
        .delete_old_notifications(after(1_000), 100, after(1_000))
        .await;
    assert_eq!(forgotten, Ok(1));
    scene.delivered(webhook).await;
    fixture.flush().await;
    let news = scene
        .notifications_after(&scene.tenant, seq, 10)
        .await
        .unwrap();
    assert_eq!(news.len(), 1);
}

/// Even if they fill the whole slice that is examined.
pub async fn notifications_dated_by_a_clock_that_ran_ahead_keep_no_others(
    fixture: impl EmbeddedFixture,
) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    for at in [after(86_400), after(86_400), NOW, after(1)] {
        let id = scene.row_at(webhook, at).await;
        scene.attempt(id, Transition::Deliver, at).await;
    }
    fixture.flush().await;
    let all = scene.notifications().await;
    let forgotten = fixture
        .embedded()
        .delete_old_notifications(after(10), 2, after(20))
        .await;
    assert_eq!(forgotten, Ok(2));
    assert_eq!(scene.notifications().await, all[..2]);
}
