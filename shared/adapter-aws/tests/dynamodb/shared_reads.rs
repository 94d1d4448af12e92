//! Deliveries of one event that are attempted together share a read of it.

use std::sync::Arc;

use bytes::Bytes;
use postrider_domain::event::{Event, MAX_BODY_BYTES};
use postrider_domain::ids::{DeliveryId, WebhookId};
use postrider_ports::deliveries::{Claim, ClaimedDelivery};
use postrider_testkit::bodies::random_bytes;
use postrider_testkit::builders::NOW;
use postrider_testkit::store_suite::Scene;

use crate::support::{Metered, bucket_of, s3};

/// The read of a webhook's state, which each of these claims makes for itself.
const STATE: f64 = 1.0;

async fn publish(scene: &Scene, event: &Event, webhooks: &[WebhookId]) -> Vec<DeliveryId> {
    let acceptance = scene.plan(event.clone(), webhooks).await;
    scene.accept_new(acceptance).await;
    let id = |webhook: &WebhookId| DeliveryId {
        event: event.id,
        webhook: *webhook,
    };
    webhooks.iter().map(id).collect()
}

async fn three_webhooks(metered: &Metered) -> [WebhookId; 3] {
    let scene = &metered.scene;
    // The number of the first one.
    scene.draw();
    [
        metered.webhook,
        scene.webhook().await.id,
        scene.webhook().await.id,
    ]
}

/// Claims a row; returns the read units beside the state's.
async fn claim(metered: &Metered, id: DeliveryId) -> (Box<ClaimedDelivery>, f64) {
    metered.meter.take();
    let claim = metered.scene.try_claim(id, NOW).await;
    let Claim::Claimed(delivery) = claim else {
        panic!("{claim:?}");
    };
    (delivery, metered.meter.take().reads - STATE)
}

#[tokio::test]
async fn deliveries_of_an_event_that_are_attempted_together_read_it_once() {
    let metered = Metered::start().await;
    let scene = &metered.scene;
    let webhooks = three_webhooks(&metered).await;
    for (bytes, units) in [(100, 1.0), (10_000, 3.0), (MAX_BODY_BYTES, 1.0)] {
        let event = Event {
            body: random_bytes(1, bytes),
            ..scene.event(NOW)
        };
        let ids = publish(scene, &event, &webhooks).await;
        let (first, read) = claim(&metered, ids[0]).await;
        assert_eq!(read, units, "{bytes} bytes");
        let (second, read) = claim(&metered, ids[1]).await;
        assert_eq!(read, 0.0, "{bytes} bytes");
        assert!(first.event.body == event.body);
        assert!(
            Arc::ptr_eq(&first.event, &second.event),
            "one copy of the body"
        );
        drop((first, second));
        let (third, read) = claim(&metered, ids[2]).await;
        assert_eq!(read, units, "nothing is kept once both have ended");
        assert!(third.event.body == event.body);
    }
}

#[tokio::test]
async fn a_body_in_the_bucket_is_fetched_once_for_attempts_that_run_together() {
    let metered = Metered::start().await;
    let scene = &metered.scene;
    let webhooks = three_webhooks(&metered).await;
    let event = Event {
        body: random_bytes(1, MAX_BODY_BYTES),
        ..scene.event(NOW)
    };
    let ids = publish(scene, &event, &webhooks).await;
    let (first, _) = claim(&metered, ids[0]).await;
    let (client, bucket) = (
        s3(metered.tables.servers),
        bucket_of(&metered.tables.tables),
    );
    let objects = client
        .list_objects_v2()
        .bucket(&bucket)
        .send()
        .await
        .unwrap();
    for object in objects.contents() {
        let delete = client.delete_object().bucket(&bucket);
        delete.key(object.key().unwrap()).send().await.unwrap();
    }
    let (second, _) = claim(&metered, ids[1]).await;
    assert!(Arc::ptr_eq(&first.event, &second.event));
}

#[tokio::test]
async fn tenants_never_share_an_event_even_with_the_same_id() {
    let metered = Metered::start().await;
    let other = Scene::of_tenant(metered.handle(), "other");
    let webhook = other.webhook().await.id;
    let event = Event {
        body: Bytes::from_static(b"mine"),
        ..metered.scene.event(NOW)
    };
    let others = Event {
        tenant: other.tenant.clone(),
        body: Bytes::from_static(b"theirs"),
        ..event.clone()
    };
    let id = publish(&metered.scene, &event, &[metered.webhook]).await[0];
    let others_id = publish(&other, &others, &[webhook]).await[0];
    let (delivery, _) = claim(&metered, id).await;
    let Claim::Claimed(others) = other.try_claim(others_id, NOW).await else {
        panic!("not claimed");
    };
    assert_eq!(&*delivery.event.body, b"mine");
    assert_eq!(&*others.event.body, b"theirs");
}
