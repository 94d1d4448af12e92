//! How long an event is stored: 37 days from when its last row was delivered or is due, and 97 from when one died or began
//! to wait in a backlog.

use aws_sdk_dynamodb::types::AttributeValue;
use postrider_domain::decide::Transition;
use postrider_domain::delivery::{DeadCause, Force};
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::DeliveryId;
use postrider_domain::tenant::{Tenant, TenantDraft, TenantLimits};
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::interventions::Requeued;
use postrider_testkit::builders::{NOW, after};
use postrider_testkit::store_suite::{Fixture, Scene};

use crate::support::{Dynamo, fixture};

const DAY: u64 = 86_400;

struct Stage {
    tables: Dynamo,
    scene: Scene,
}

impl Stage {
    async fn new() -> Self {
        let tables = fixture().await;
        let scene = Scene::of(tables.handle());
        Self { tables, scene }
    }

    async fn expires_at(&self, id: DeliveryId, sk: &str) -> Timestamp {
        let pk = AttributeValue::S(format!("{}#{}", self.scene.tenant, id.event));
        let get = self.tables.client.get_item().key("pk", pk);
        let get = get.key("sk", AttributeValue::S(sk.to_owned()));
        let table = &self.tables.tables.deliveries;
        let found = get.table_name(table).consistent_read(true).send().await;
        let item = found.unwrap().item.unwrap();
        let seconds = item["expires_at"].as_n().unwrap();
        let seconds: i64 = seconds.parse().unwrap();
        Timestamp::from_millis(seconds * 1000)
    }

    /// When the event expires, after checking that its row expires before it.
    async fn event_expires_at(&self, id: DeliveryId) -> Timestamp {
        let row = self
            .expires_at(id, &format!("delivery#{}", id.webhook))
            .await;
        let event = self.expires_at(id, "event").await;
        assert!(
            row < event,
            "the row expires at {row}, its event at {event}"
        );
        event
    }
}

fn days_after(at: Timestamp, days: u64) -> Timestamp {
    at.plus(Millis::from_seconds(days * DAY))
}

const fn retry_at(next_retry_at: Timestamp) -> Transition {
    Transition::Retry { next_retry_at }
}

#[tokio::test]
async fn an_event_that_is_delivered_at_once_is_stored_37_days() {
    let stage = Stage::new().await;
    let scene = &stage.scene;
    let id = scene.delivered(scene.webhook().await.id).await;
    assert_eq!(stage.event_expires_at(id).await, days_after(NOW, 37));
}

/// What was published before keeps its time.
#[tokio::test]
async fn a_tenants_own_retention_applies_to_what_it_publishes_since() {
    let stage = Stage::new().await;
    let scene = &stage.scene;
    let webhook = scene.webhook().await.id;
    let earlier = scene.row(webhook).await;
    let draft = TenantDraft {
        name: "Acme".to_owned(),
        limits: TenantLimits {
            retention_days: Some(3),
            ..TenantLimits::default()
        },
    };
    let tenant = Tenant::unrecorded(scene.tenant.clone());
    let tenant = tenant.changed(&draft, after(1)).unwrap();
    scene.put_tenant(tenant, None).await.unwrap();
    let later = scene.row_at(webhook, after(2)).await;
    let row = |id: DeliveryId| format!("delivery#{}", id.webhook);
    scene.attempt(later, Transition::Deliver, after(2)).await;
    let expires_at = stage.expires_at(later, &row(later)).await;
    assert_eq!(expires_at, days_after(after(2), 3));
    assert_eq!(
        stage.event_expires_at(later).await,
        days_after(after(2), 10)
    );
    scene.attempt(earlier, Transition::Deliver, after(3)).await;
    let expires_at = stage.expires_at(earlier, &row(earlier)).await;
    assert_eq!(expires_at, days_after(after(3), 30));
}

#[tokio::test]
async fn an_event_that_is_delivered_within_a_week_is_stored_37_days() {
    let stage = Stage::new().await;
    let scene = &stage.scene;
    let id = scene.row(scene.webhook().await.id).await;
    let late = after(6 * DAY);
    scene.attempt(id, retry_at(after(60)), NOW).await;
    scene.attempt(id, retry_at(late), after(60)).await;
    assert_eq!(stage.expires_at(id, "event").await, days_after(NOW, 37));
    scene.attempt(id, Transition::Deliver, late).await;
    assert_eq!(stage.event_expires_at(id).await, days_after(NOW, 37));
    for version in [1, 3] {
        let details = format!("attempt#{}#{version}", id.webhook);
        let kept_until = stage.expires_at(id, &details).await;
        assert!(kept_until >= days_after(NOW, 37), "{kept_until}");
    }
}

#[tokio::test]
async fn a_delivery_that_dies_prolongs_the_event_to_97_days() {
    let stage = Stage::new().await;
    let scene = &stage.scene;
    let id = scene.row(scene.webhook().await.id).await;
    scene.attempt(id, retry_at(after(60)), NOW).await;
    let cause = DeadCause::Exhausted;
    scene
        .attempt(id, Transition::Die { cause }, after(60))
        .await;
    let prolonged = days_after(after(60), 97);
    assert_eq!(stage.event_expires_at(id).await, prolonged);
}

#[tokio::test]
async fn a_retry_that_is_due_late_prolongs_the_event_each_time() {
    let stage = Stage::new().await;
    let scene = &stage.scene;
    let id = scene.row(scene.webhook().await.id).await;
    let mut now = NOW;
    for days in [10, 31, 60] {
        let late = after(days * DAY);
        scene.attempt(id, retry_at(late), now).await;
        let event = stage.expires_at(id, "event").await;
        assert_eq!(event, days_after(late, 37));
        now = late;
    }
}

#[tokio::test]
async fn a_late_delivery_prolongs_the_event() {
    let stage = Stage::new().await;
    let scene = &stage.scene;
    let id = scene.row(scene.webhook().await.id).await;
    scene
        .attempt(id, Transition::Deliver, after(20 * DAY))
        .await;
    assert_eq!(stage.event_expires_at(id).await, days_after(NOW, 57));
}

#[tokio::test]
async fn a_requeue_prolongs_the_event() {
    let stage = Stage::new().await;
    let scene = &stage.scene;
    let webhook = scene.webhook().await.id;
    for (id, days) in [
        (scene.dead(webhook).await, 80),
        (scene.delivered(webhook).await, 20),
    ] {
        let now = after(days * DAY);
        let requeued = scene.requeue(&scene.tenant, id, Force::Delivered, now);
        assert!(matches!(requeued.await, Ok(Requeued::Done(_))));
        let event = stage.expires_at(id, "event").await;
        assert_eq!(event, days_after(now, 37));
    }
}

#[tokio::test]
async fn a_row_that_waits_in_a_backlog_prolongs_its_event() {
    let stage = Stage::new().await;
    let scene = &stage.scene;
    let webhook = scene.webhook().await.id;
    let (moved, retried) = (scene.row(webhook).await, scene.row(webhook).await);
    let put_on_hold = scene.row(webhook).await;
    scene.attempt(retried, retry_at(NOW), NOW).await;
    for id in [moved, retried] {
        scene.postpone(id, NOW).await;
    }
    scene.set_status(webhook, WebhookStatus::Paused).await;
    scene.try_claim(put_on_hold, NOW).await;
    for id in [moved, retried, put_on_hold] {
        assert!(scene.stored(id).await.in_backlog);
        assert_eq!(stage.event_expires_at(id).await, days_after(NOW, 97));
    }
}

#[tokio::test]
async fn a_delivery_of_a_deleted_webhook_prolongs_its_event() {
    let stage = Stage::new().await;
    let scene = &stage.scene;
    let webhook = scene.webhook().await.id;
    let id = scene.row(webhook).await;
    scene
        .delete_webhook(&scene.tenant, webhook, NOW)
        .await
        .unwrap();
    scene.try_claim(id, NOW).await;
    assert_eq!(
        scene.stored(id).await.dead_cause,
        Some(DeadCause::WebhookDeleted)
    );
    assert_eq!(stage.event_expires_at(id).await, days_after(NOW, 97));
}
