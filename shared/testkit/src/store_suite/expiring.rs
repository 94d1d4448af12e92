//! Data is removed when its retention ends.

use bytes::Bytes;
use http::HeaderMap;
use postrider_domain::decide::Transition;
use postrider_domain::delivery::DeadCause;
use postrider_domain::event::Event;
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::{DeliveryId, EventId};
use postrider_domain::inbound::{Inbound, Rejection};
use postrider_domain::rejected::RejectedRequest;
use postrider_domain::retention::Retention;
use postrider_domain::stats::KEPT_FOR;
use postrider_domain::tenant::{Tenant, TenantDraft, TenantLimits};
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::deliveries::Accepted;
use postrider_ports::history::Filter;

use super::scene::retry_at;
use super::{EmbeddedFixture, Scene};
use crate::builders::{self, NOW, after};

const RETENTION: Retention = Retention {
    delivered: Millis::from_seconds(100),
    dead: Millis::from_seconds(300),
};

/// Delivered rows sooner than dead ones, with their attempts.
pub async fn finished_rows_are_removed_after_their_retention(fixture: impl EmbeddedFixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let dead = scene.dead(webhook).await;
    let delivered = scene.delivered(webhook).await;
    assert_eq!(expire(&fixture, after(99)).await, 0);
    assert_eq!(expire(&fixture, after(100)).await, 1);
    assert!(is_gone(&scene, delivered).await);
    let attempts = scene.attempts(&scene.tenant, delivered).await;
    assert_eq!(attempts, Ok(Vec::new()));
    fixture.flush().await;
    let left = scene.all(&Filter::default(), 10).await;
    assert_eq!(left.len(), 1);
    assert!(!is_gone(&scene, dead).await);
    // Late enough that a store which checks retained rows periodically has checked again.
    let later = after(300 + 2 * 3_600);
    assert_eq!(expire(&fixture, later).await, 1);
    assert!(is_gone(&scene, dead).await);
    fixture.flush().await;
    assert_eq!(scene.all(&Filter::default(), 10).await, []);
}

/// As dead, because it will not be attempted again.
pub async fn an_open_row_is_notified_before_it_is_removed(fixture: impl EmbeddedFixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let id = scene.row(webhook).await;
    scene.attempt(id, retry_at(after(500)), NOW).await;
    assert_eq!(
        expire(&fixture, after(799)).await,
        0,
        "retained from when it was due"
    );
    assert_eq!(expire(&fixture, after(10_000)).await, 1);
    assert!(is_gone(&scene, id).await);
    fixture.flush().await;
    let notifications = scene.notifications().await;
    let last = notifications.last().unwrap();
    assert_eq!(last.kind, "delivery.dead");
    assert!(last.event.contains("\"expired\""), "{}", last.event);
    let hour = after(10_000).hour();
    let stats = scene.stats(&scene.tenant, Some(webhook), hour, after(20_000));
    assert_eq!(stats.await.unwrap()[0].dead, 1);
}

/// Not before; then its key can be used again.
pub async fn an_event_is_removed_with_its_last_row(fixture: impl EmbeddedFixture) {
    let scene = Scene::of(fixture.handle());
    let (a, b) = (scene.webhook().await.id, scene.webhook().await.id);
    let event = scene.event(NOW);
    let acceptance = scene.plan(event.clone(), &[a, b]).await;
    scene.accept_new(acceptance.clone()).await;
    let id = |webhook| DeliveryId {
        event: event.id,
        webhook,
    };
    scene.attempt(id(a), Transition::Deliver, NOW).await;
    scene.attempt(id(b), Transition::Deliver, after(50)).await;
    assert_eq!(expire(&fixture, after(100)).await, 1);
    assert!(has_event(&scene, &event).await);
    assert_eq!(expire(&fixture, after(10_000)).await, 1);
    assert!(!has_event(&scene, &event).await);
    let again = scene.accept_one(acceptance).await.unwrap();
    assert!(matches!(again, Accepted::New));
}

/// After the retention of a delivered row.
pub async fn an_event_without_a_webhook_is_removed_after_its_retention(
    fixture: impl EmbeddedFixture,
) {
    let scene = Scene::of(fixture.handle());
    let event = scene.event(NOW);
    let acceptance = scene.plan(event.clone(), &[]).await;
    scene.accept_new(acceptance).await;
    assert_eq!(expire(&fixture, after(99)).await, 0);
    assert!(has_event(&scene, &event).await);
    assert_eq!(expire(&fixture, after(100)).await, 1);
    assert!(!has_event(&scene, &event).await);
}

/// It is being attempted.
pub async fn a_held_row_stays(fixture: impl EmbeddedFixture) {
    let scene = Scene::of(fixture.handle());
    let id = scene.row(scene.webhook().await.id).await;
    let claimed = scene.claimed(id, after(10_000)).await;
    assert_eq!(expire(&fixture, after(10_001)).await, 0);
    let done = scene.finish(&claimed, Transition::Deliver, after(10_002));
    done.await;
    assert!(!is_gone(&scene, id).await);
}

/// The oldest first, until nothing is left.
pub async fn removal_respects_its_limit(fixture: impl EmbeddedFixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    for n in 0..7 {
        let id = scene.row_at(webhook, after(n)).await;
        scene.attempt(id, Transition::Deliver, after(n)).await;
    }
    let young = scene.row_at(webhook, after(950)).await;
    scene.attempt(young, Transition::Deliver, after(950)).await;
    let mut slices = Vec::new();
    loop {
        let store = fixture.embedded();
        let slice = store.expire(RETENTION, 3, after(1_000)).await.unwrap();
        slices.push(slice.removed);
        if !slice.more {
            break;
        }
    }
    assert!(slices.iter().all(|removed| *removed <= 3), "{slices:?}");
    assert_eq!(slices.iter().sum::<usize>(), 7, "{slices:?}");
    assert!(!is_gone(&scene, young).await);
}

/// However many rows with a longer retention come before the expired ones.
pub async fn retained_rows_do_not_hide_the_expired_ones_behind_them(fixture: impl EmbeddedFixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let event = scene.event(NOW);
    let mut batch = Vec::new();
    for n in 0..1_600 {
        let event = Event {
            id: EventId::keyed(&scene.tenant, "kept", &n.to_string()),
            ..event.clone()
        };
        batch.push(scene.plan(event, &[webhook]).await);
    }
    for accepted in scene.accept(batch).await {
        assert!(matches!(accepted, Ok(Accepted::New)), "{accepted:?}");
    }
    let behind = scene.delivered(webhook).await;
    let slice = fixture.embedded().expire(RETENTION, 10, after(100)).await;
    assert!(slice.unwrap().more, "one slice does not read all of them");
    assert_eq!(expire(&fixture, after(100)).await, 1);
    assert!(is_gone(&scene, behind).await);
}

/// The oldest first, up to a limit, including those sent to unknown sources.
pub async fn rejected_requests_are_removed_after_their_retention(fixture: impl EmbeddedFixture) {
    let scene = Scene::of(fixture.handle());
    let source = builders::source(&scene.tenant, 1);
    scene.create_source(source.clone()).await.unwrap();
    let request = || Inbound::post(HeaderMap::new(), Bytes::from_static(b"{}"));
    for n in 0..4 {
        let rejected = RejectedRequest::of(&source, request(), Rejection::NoMatch, after(n));
        scene.store_rejected(rejected).await.unwrap().unwrap();
    }
    let sourceless = RejectedRequest::to_unknown_source(request(), Rejection::UnknownSource, NOW);
    scene.store_rejected(sourceless).await.unwrap().unwrap();
    let store = fixture.embedded();
    let forget = async |limit| store.delete_old_rejections(after(2), limit).await.unwrap();
    assert_eq!(
        (forget(2).await, forget(2).await, forget(2).await),
        (2, 1, 0)
    );
    let left = scene.rejections(&scene.tenant, source.id, 10, NOW).await;
    let left: Vec<_> = left.unwrap().iter().map(|kept| kept.rejected.at).collect();
    assert_eq!(left, [after(3), after(2)]);
}

/// Otherwise they would accumulate forever.
pub async fn old_counters_and_emails_are_removed(fixture: impl EmbeddedFixture) {
    let scenes = ["a", "b"].map(|tenant| Scene::of_tenant(fixture.handle(), tenant));
    let late = NOW.plus(KEPT_FOR).minus(Millis::from_seconds(3600));
    for scene in &scenes {
        let webhook = scene.webhook().await.id;
        for at in [NOW, late] {
            scene.outcome(webhook, Transition::Deliver, at).await;
            let cause = DeadCause::ExhaustedFailingWebhook;
            scene.outcome(webhook, Transition::Die { cause }, at).await;
            scene.set_status(webhook, WebhookStatus::Active).await;
        }
    }
    let store = fixture.embedded();
    let emails = async || store.emails_due(late, 10).await.unwrap().len();
    let counters = async |scene: &Scene| {
        let all = Timestamp::from_millis(i64::MAX);
        let kept = scene.stats(&scene.tenant, None, Timestamp::ZERO, all);
        kept.await.unwrap().len()
    };
    assert_eq!(emails().await, 4);
    expire(&fixture, late).await;
    assert_eq!(emails().await, 2, "a month is long enough");
    assert_eq!(counters(&scenes[0]).await, 2);
    expire(&fixture, NOW.hour().plus(KEPT_FOR).plus(Millis::new(1))).await;
    for scene in &scenes {
        assert_eq!(counters(scene).await, 1);
    }
}

/// Nor do they once the time has come that they are dated.
pub async fn rows_accepted_by_a_clock_that_ran_ahead_do_not_stop_retention(
    fixture: impl EmbeddedFixture,
) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let tomorrow = after(86_400);
    let ahead = scene.row_at(webhook, tomorrow).await;
    scene.attempt(ahead, Transition::Deliver, tomorrow).await;
    let behind = scene.delivered(webhook).await;
    assert_eq!(expire(&fixture, after(100)).await, 1);
    assert!(is_gone(&scene, behind).await && !is_gone(&scene, ahead).await);
    let evening = scene.row_at(webhook, after(86_300)).await;
    scene
        .attempt(evening, Transition::Deliver, after(86_300))
        .await;
    assert_eq!(expire(&fixture, tomorrow).await, 1);
    assert!(is_gone(&scene, evening).await && !is_gone(&scene, ahead).await);
}

/// Those that matched no webhook.
pub async fn events_accepted_by_a_clock_that_ran_ahead_do_not_stop_retention(
    fixture: impl EmbeddedFixture,
) {
    let scene = Scene::of(fixture.handle());
    let (ahead, behind) = (scene.event(after(86_400)), scene.event(NOW));
    for event in [&ahead, &behind] {
        let acceptance = scene.plan(event.clone(), &[]).await;
        scene.accept_new(acceptance).await;
    }
    assert_eq!(expire(&fixture, after(100)).await, 1);
    assert!(has_event(&scene, &ahead).await && !has_event(&scene, &behind).await);
}

/// Only what the tenant published since its retention was shortened.
pub async fn rows_of_a_tenant_with_a_shorter_retention_are_removed_sooner(
    fixture: impl EmbeddedFixture,
) {
    let scene = Scene::of(fixture.handle());
    let other = Scene::of_tenant(fixture.handle(), "other");
    let webhook = scene.webhook().await.id;
    let before = scene.delivered(webhook).await;
    let of_other = other.delivered(other.webhook().await.id).await;
    let draft = TenantDraft {
        name: "Acme".to_owned(),
        limits: TenantLimits {
            retention_days: Some(1),
            ..TenantLimits::default()
        },
    };
    let tenant = Tenant::unrecorded(scene.tenant.clone());
    let tenant = tenant.changed(&draft, after(1)).unwrap();
    scene.put_tenant(tenant, None).await.unwrap();
    let since = scene.row_at(webhook, after(2)).await;
    scene.attempt(since, Transition::Deliver, after(2)).await;
    let open = scene.row_at(webhook, after(3)).await;
    scene.attempt(open, retry_at(after(90_000)), after(3)).await;
    for (now, removed) in [(after(86_401), 0), (after(86_402), 1), (after(99_000), 0)] {
        let store = fixture.embedded();
        let slice = store.expire(Retention::default(), 1, now).await;
        assert_eq!(slice.unwrap().removed, removed, "{now}");
    }
    assert!(is_gone(&scene, since).await);
    for id in [before, open] {
        assert!(!is_gone(&scene, id).await);
    }
    assert!(!is_gone(&other, of_other).await);
}

/// One call looks at so many tenants only.
pub async fn rows_of_many_tenants_are_removed_in_several_calls(fixture: impl EmbeddedFixture) {
    const TENANTS: usize = 230;
    let mut rows = Vec::new();
    for n in 0..TENANTS {
        let scene = Scene::of_tenant(fixture.handle(), &format!("tenant-{n:03}"));
        let draft = TenantDraft {
            name: n.to_string(),
            limits: TenantLimits {
                // Those without a limit of their own are passed over.
                retention_days: (n % 3 > 0).then_some(1),
                ..TenantLimits::default()
            },
        };
        let tenant = Tenant::unrecorded(scene.tenant.clone());
        let tenant = tenant.changed(&draft, NOW).unwrap();
        scene.put_tenant(tenant, None).await.unwrap();
        if n % 50 < 2 {
            let webhook = scene.webhook().await.id;
            let row = scene.row_at(webhook, after(1)).await;
            scene.attempt(row, Transition::Deliver, after(1)).await;
            rows.push((scene, row, n % 3 > 0));
        }
    }
    let store = fixture.embedded();
    let mut calls = Vec::new();
    while calls.last() != Some(&false) {
        let slice = store.expire(Retention::default(), 10, after(86_401)).await;
        calls.push(slice.unwrap().more);
    }
    assert!(calls.len() > 2, "{calls:?}");
    for (scene, row, is_short) in &rows {
        assert_eq!(is_gone(scene, *row).await, *is_short, "{}", scene.tenant);
    }
}

async fn expire(fixture: &impl EmbeddedFixture, now: Timestamp) -> usize {
    let mut removed = 0;
    loop {
        let store = fixture.embedded();
        let slice = store.expire(RETENTION, 1000, now).await.unwrap();
        removed += slice.removed;
        if !slice.more {
            return removed;
        }
    }
}

async fn is_gone(scene: &Scene, id: DeliveryId) -> bool {
    scene.delivery(&scene.tenant, id).await.unwrap().is_none()
}

async fn has_event(scene: &Scene, event: &Event) -> bool {
    let found = scene.handle.store.event(&scene.tenant, event.id).await;
    found.unwrap().is_some()
}
