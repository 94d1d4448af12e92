//! Parked rows are released whatever goes wrong.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::Client;
use postrider_domain::health::WebhookStatus;
use postrider_ports::deliveries::Accepted;
use postrider_ports::interventions::Interventions;
use postrider_testkit::builders::{NOW, acceptance, after};
use postrider_testkit::store_suite::{Fixture, Scene};

use crate::support::{Dynamo, Meter, fixture};

/// Deletes every marker of rows to be released, as a bug or a restored backup might.
async fn lose_markers(tables: &Dynamo) {
    for item in &tables.markers("release#").await {
        let delete = tables.client.delete_item();
        delete
            .table_name(&tables.tables.deliveries)
            .key("pk", item["pk"].clone())
            .key("sk", item["sk"].clone())
            .send()
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn a_row_without_a_marker_is_found_by_the_hourly_check() {
    let tables = fixture().await;
    let scene = Scene::of(tables.handle());
    let webhook = scene.webhook().await.id;
    assert_eq!(scene.released(10, NOW).await, [], "the first hour starts");
    scene.set_status(webhook, WebhookStatus::Paused).await;
    let stranded = scene.row(webhook).await;
    scene.set_status(webhook, WebhookStatus::Active).await;
    lose_markers(&tables).await;
    assert_eq!(scene.released(10, after(3599)).await, []);
    assert!(scene.stored(stranded).await.parked);
    assert_eq!(scene.released(10, after(3600)).await, [stranded]);
    scene.claimed(stranded, after(3600)).await;
}

#[tokio::test]
async fn the_hourly_check_does_not_wait_for_a_clock_that_ran_ahead() {
    let tables = fixture().await;
    let scene = Scene::of(tables.handle());
    let webhook = scene.webhook().await.id;
    assert_eq!(scene.released(10, after(86_400)).await, []);
    scene.set_status(webhook, WebhookStatus::Paused).await;
    let stranded = scene.row(webhook).await;
    scene.set_status(webhook, WebhookStatus::Active).await;
    lose_markers(&tables).await;
    assert_eq!(scene.released(10, NOW).await, [stranded]);
    lose_markers(&tables).await;
    assert_eq!(scene.released(10, after(3599)).await, []);
    assert_eq!(
        tables.markers("release#").await.len(),
        0,
        "not before an hour"
    );
}

#[tokio::test]
async fn the_hourly_check_leaves_a_paused_webhooks_rows_alone() {
    let tables = fixture().await;
    let scene = Scene::of(tables.handle());
    let webhook = scene.webhook().await.id;
    scene.released(10, NOW).await;
    scene.set_status(webhook, WebhookStatus::Paused).await;
    let waiting = scene.row(webhook).await;
    assert_eq!(scene.released(10, after(3600)).await, []);
    assert!(scene.stored(waiting).await.parked);
}

/// A row that is set aside just as its webhook's marker is considered done: it was marked again before.
#[tokio::test]
async fn a_row_set_aside_late_is_released() {
    let tables = fixture().await;
    let scene = Scene::of(tables.handle());
    let webhook = scene.webhook().await.id;
    scene.set_status(webhook, WebhookStatus::Paused).await;
    scene.set_status(webhook, WebhookStatus::Active).await;
    let id = scene.row(webhook).await;
    let message = postrider_ports::queue::AttemptMessage::of(&scene.stored(id).await);
    assert_eq!(scene.released(10, after(119)).await, []);
    scene.set_aside(vec![message], after(121)).await.unwrap();
    assert_eq!(scene.released(10, after(122)).await, [id]);
}

#[tokio::test]
async fn hundreds_of_deliveries_wait_for_a_resume_and_none_is_lost() {
    const WAITING: usize = 300;
    let tables = fixture().await;
    let scene = Scene::of(tables.handle());
    let webhook = scene.webhook().await.id;
    scene.set_status(webhook, WebhookStatus::Failed).await;
    let version = scene.version().await;
    let batch: Vec<_> = (0..WAITING)
        .map(|_| acceptance(scene.event(NOW), &[webhook], version))
        .collect();
    let ids: BTreeSet<_> = batch.iter().map(|one| one.rows[0].id).collect();
    for accepted in scene.accept(batch).await {
        assert!(matches!(accepted, Ok(Accepted::New)));
    }
    scene.set_status(webhook, WebhookStatus::Active).await;
    let (mut freed, mut turns) = (BTreeSet::new(), BTreeSet::new());
    loop {
        let messages = scene.release(100, after(86_400), after(60)).await.unwrap();
        if messages.is_empty() {
            break;
        }
        turns.extend(messages.iter().map(|message| message.next_retry_at));
        freed.extend(messages.into_iter().map(|message| message.id));
    }
    assert_eq!(freed, ids);
    assert_eq!(turns.len(), WAITING, "every row has its own turn");
}

/// Each row costs a read, and only a few of many waiting rows can be sent.
#[tokio::test]
async fn a_release_reads_no_more_rows_than_there_are_turns() {
    let tables = fixture().await;
    let scene = Scene::of(tables.handle());
    let webhook = scene.webhook().await.id;
    scene.set_status(webhook, WebhookStatus::Paused).await;
    for _ in 0..60 {
        scene.row(webhook).await;
    }
    scene.set_status(webhook, WebhookStatus::Active).await;
    let meter = Meter::default();
    let config = tables.config().interceptor(meter.clone()).build();
    let store = tables.store_with(Client::from_conf(config));
    for (freed, bar) in [(3, 25.0), (0, 15.0)] {
        let messages = store.release_webhook(&scene.tenant, webhook, 500, after(2), NOW);
        assert_eq!(messages.await.unwrap().len(), freed);
        let reads = meter.take().reads;
        println!("{freed} of 60 rows freed: {reads} read units (bar {bar})");
        assert!(reads <= bar, "{reads} units");
    }
}
