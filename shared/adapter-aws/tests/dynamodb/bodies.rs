//! Bodies that do not fit into an item: objects in a bucket of MiniStack.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use postrider_domain::decide::Transition;
use postrider_domain::delivery::{DeadCause, Force, Status, Unclaimable};
use postrider_domain::event::{Event, MAX_BODY_BYTES};
use postrider_domain::ids::DeliveryId;
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::deliveries::Claim;
use postrider_ports::erasures::EventErased;
use postrider_ports::interventions::Requeued;
use postrider_testkit::bodies::random_bytes;
use postrider_testkit::builders::{NOW, after};

use crate::support::{Metered, bucket_of, s3};

const DAY: u64 = 86_400;

async fn large(metered: &Metered) -> (DeliveryId, f64) {
    let event = Event {
        body: random_bytes(1, MAX_BODY_BYTES),
        ..metered.scene.event(NOW)
    };
    let id = DeliveryId {
        event: event.id,
        webhook: metered.webhook,
    };
    let acceptance = metered.scene.plan(event, &[metered.webhook]).await;
    metered.meter.take();
    metered.scene.accept_new(acceptance).await;
    (id, metered.meter.take().writes)
}

async fn item(metered: &Metered, id: DeliveryId) -> HashMap<String, AttributeValue> {
    let pk = format!("{}#{}", metered.scene.tenant, id.event);
    let get = metered.tables.client.get_item();
    let get = get.table_name(&metered.tables.tables.deliveries);
    let get = get.key("pk", AttributeValue::S(pk));
    let get = get.key("sk", AttributeValue::S("event".to_owned()));
    get.send().await.unwrap().item.unwrap()
}

fn seconds(item: &HashMap<String, AttributeValue>, name: &str) -> Timestamp {
    let seconds: i64 = item.get(name).unwrap().as_n().unwrap().parse().unwrap();
    Timestamp::from_millis(seconds * 1000)
}

fn days(days: u64) -> Timestamp {
    NOW.plus(Millis::from_seconds(days * DAY))
}

const DIE: Transition = Transition::Die {
    cause: DeadCause::Exhausted,
};

#[tokio::test]
async fn a_body_of_4_mb_costs_no_more_units_than_a_small_one() {
    let metered = Metered::start().await;
    let (_, small) = metered.accept(Some("session".parse().unwrap()), 100).await;
    let (_, units) = large(&metered).await;
    assert_eq!(units, small.writes);
}

#[tokio::test]
async fn the_object_of_an_event_lasts_longer_than_the_event_after_a_death() {
    let metered = Metered::start().await;
    let (id, _) = large(&metered).await;
    let stored = item(&metered, id).await;
    assert_eq!(seconds(&stored, "object_expires_at"), days(104));
    metered.attempt(id, DIE, days(5)).await;
    let soon = item(&metered, id).await;
    assert_eq!(seconds(&soon, "expires_at"), days(5 + 97));
    assert_eq!(
        soon["object_expires_at"], stored["object_expires_at"],
        "it is not copied"
    );
}

#[tokio::test]
async fn a_late_death_renews_the_object_of_its_event() {
    let metered = Metered::start().await;
    let (id, _) = large(&metered).await;
    let key = item(&metered, id).await["object"].clone();
    metered.attempt(id, DIE, days(20)).await;
    let late = item(&metered, id).await;
    assert_eq!(seconds(&late, "expires_at"), days(20 + 97));
    assert_eq!(seconds(&late, "object_expires_at"), days(20 + 104));
    assert_eq!(late["object"], key);
    let scene = &metered.scene;
    let requeued = scene.requeue(&scene.tenant, id, Force::No, days(20)).await;
    assert!(matches!(requeued, Ok(Requeued::Done(_))));
    let claim = scene.try_claim(id, days(20)).await;
    let Claim::Claimed(delivery) = claim else {
        panic!("not claimed");
    };
    assert!(delivery.event.body == random_bytes(1, MAX_BODY_BYTES));
}

#[tokio::test]
async fn a_delivery_whose_object_is_gone_is_ended() {
    let metered = Metered::start().await;
    let (id, _) = large(&metered).await;
    let key = item(&metered, id).await["object"].as_s().unwrap().clone();
    let client = s3(metered.tables.servers);
    let delete = client.delete_object().key(key);
    let bucket = bucket_of(&metered.tables.tables);
    delete.bucket(bucket).send().await.unwrap();
    let claim = metered.scene.try_claim(id, after(1)).await;
    assert!(matches!(claim, Claim::Unclaimable(Unclaimable::Closed)));
    let row = metered.scene.stored(id).await;
    assert_eq!(
        (row.status, row.dead_cause),
        (Status::Dead, Some(DeadCause::EventExpired))
    );
}

#[tokio::test]
async fn an_erased_body_is_in_no_object_and_no_item() {
    let metered = Metered::start().await;
    let (id, _) = large(&metered).await;
    let key = item(&metered, id).await["object"].as_s().unwrap().clone();
    let scene = &metered.scene;
    let erased = scene.erase_event(&scene.tenant, id.event, after(1)).await;
    assert_eq!(erased, Ok(EventErased::Done { deliveries: 1 }));
    let client = s3(metered.tables.servers);
    let bucket = bucket_of(&metered.tables.tables);
    let get = client.get_object().bucket(bucket).key(key);
    assert!(get.send().await.is_err(), "the object is deleted");
    let left = item(&metered, id).await;
    let mut names: Vec<_> = left.keys().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "content_type",
            "created_at",
            "erased_at",
            "event_type",
            "expires_at",
            "origin",
            "pk",
            "plan",
            "request_hash",
            "sk"
        ]
    );
}
