//! How long an event is stored: 37 days, or 97 from the last time that one of its rows became anything but delivered.

use aws_sdk_dynamodb::types::AttributeValue;
use postrider_domain::decide::Transition;
use postrider_domain::delivery::{DeadCause, Force};
use postrider_domain::flow::AttemptKind;
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::DeliveryId;
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::drains::Postponed;
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

#[tokio::test]
async fn a_first_failure_prolongs_the_event_to_97_days_and_a_second_one_soon_after_does_not() {
    let stage = Stage::new().await;
    let scene = &stage.scene;
    let id = scene.row(scene.webhook().await.id).await;
    scene.attempt(id, retry_at(after(60)), NOW).await;
    let prolonged = days_after(after(60), 97);
    assert_eq!(stage.event_expires_at(id).await, prolonged);
    scene.attempt(id, retry_at(after(600)), after(60)).await;
    assert_eq!(stage.event_expires_at(id).await, prolonged);
    let die = Transition::Die {
        cause: DeadCause::Exhausted,
    };
    scene.attempt(id, die, after(600)).await;
    assert_eq!(stage.event_expires_at(id).await, prolonged);
}

#[tokio::test]
async fn a_failure_long_after_the_first_prolongs_the_event_again() {
    let stage = Stage::new().await;
    let scene = &stage.scene;
    let id = scene.row(scene.webhook().await.id).await;
    let late = after(30 * DAY);
    scene.attempt(id, retry_at(late), NOW).await;
    scene.attempt(id, retry_at(after(31 * DAY)), late).await;
    let prolonged = days_after(after(31 * DAY), 97);
    assert!(stage.event_expires_at(id).await <= prolonged);
    scene
        .attempt(id, retry_at(after(60 * DAY)), after(31 * DAY))
        .await;
    let prolonged = days_after(after(60 * DAY), 97);
    assert_eq!(stage.event_expires_at(id).await, prolonged);
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
    let now = after(20 * DAY);
    for id in [scene.dead(webhook).await, scene.delivered(webhook).await] {
        let requeued = scene.requeue(&scene.tenant, id, Force::Delivered, now);
        assert!(matches!(requeued.await, Ok(Requeued::Done(_))));
        assert_eq!(stage.event_expires_at(id).await, days_after(now, 97));
    }
}

#[tokio::test]
async fn a_row_that_waits_in_a_backlog_prolongs_its_event() {
    let stage = Stage::new().await;
    let scene = &stage.scene;
    let webhook = scene.webhook().await.id;
    let (moved, put_on_hold) = (scene.row(webhook).await, scene.row(webhook).await);
    let postponed = Postponed {
        tenant: scene.tenant.clone(),
        id: moved,
        kind: AttemptKind::First,
        next_retry_at: NOW,
    };
    let done = scene.move_to_backlog(vec![postponed], NOW).await;
    assert_eq!(done, [Ok(())]);
    scene.set_status(webhook, WebhookStatus::Paused).await;
    scene.try_claim(put_on_hold, NOW).await;
    for id in [moved, put_on_hold] {
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
