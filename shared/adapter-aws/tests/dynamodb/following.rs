//! What follows from the stream: a batch received twice, by two processes, or with an unreadable record.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use postrider_adapter_aws::dynamodb::{Follower, Record};
use postrider_domain::decide::Transition;
use postrider_domain::delivery::{DeadCause, Status};
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::WebhookId;
use postrider_domain::notification::Notification;
use postrider_ports::history::Filter;
use postrider_ports::notifications::Notifications;
use postrider_testkit::builders::{NOW, after, completion};
use postrider_testkit::store_suite::{Fixture, Scene};

use crate::support::faults::{Fault, Faults};
use crate::support::gate::Gate;
use crate::support::{Dynamo, fixture};

async fn stage() -> (Dynamo, Scene, WebhookId) {
    let fixture = fixture().await;
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    (fixture, scene, webhook)
}

async fn attempts_counted(scene: &Scene, webhook: WebhookId) -> u64 {
    let stats = scene
        .handle
        .store
        .stats(&scene.tenant, Some(webhook), NOW.hour(), after(7_200));
    let stats = stats.await.unwrap();
    stats.iter().map(|hour| hour.attempts).sum()
}

async fn followed(follower: &Follower, changes: Vec<Record>) -> Vec<Notification> {
    let followed = follower.follow(changes, NOW).await;
    followed.into_iter().flat_map(Result::unwrap).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_that_comes_again_is_counted_and_shown_once() {
    let (fixture, scene, webhook) = stage().await;
    scene.failed(webhook).await;
    let changes = fixture.changes().await;
    fixture.hear(&changes).await;
    let follower = Follower::of(fixture.store.clone());
    let first = followed(&follower, changes.clone()).await;
    // The topic refused it, so nothing is settled and the batch comes again, to another process.
    let follower = Follower::of(fixture.store.clone());
    let second = followed(&follower, changes.clone()).await;
    fixture.settle(&follower, &changes).await;
    assert_eq!(first, second, "the notifications stay the same");
    assert_eq!(first.len(), 1);
    assert_eq!(attempts_counted(&scene, webhook).await, 1);
    assert_eq!(scene.notification_kinds().await, ["delivery.failed"]);
}

/// The failure count may be too high after a repeated batch, so it does not decide.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_that_comes_again_fails_no_webhook_on_probation() {
    let (fixture, scene, webhook) = stage().await;
    let id = scene.row(webhook).await;
    let exhausted = Transition::Die {
        cause: DeadCause::ExhaustedFailingWebhook,
    };
    scene.attempt(id, exhausted, NOW).await;
    fixture.flush().await;
    scene.set_status(webhook, WebhookStatus::Active).await;
    fixture.flush().await;
    assert!(scene.health(webhook).await.on_probation);
    for failures in 1..=3 {
        let claimed = scene.claimed(scene.row(webhook).await, NOW).await;
        let next_retry_at = after(60);
        let mut failed = completion(&claimed, Transition::Retry { next_retry_at }, NOW);
        failed.generation = scene.health(webhook).await.generation;
        scene.apply(&claimed, failed, NOW).await.unwrap();
        let changes = fixture.changes().await;
        for _ in 0..4 {
            let follower = Follower::of(fixture.store.clone());
            followed(&follower, changes.clone()).await;
        }
        let health = scene.health(webhook).await;
        if failures < 3 {
            let expected = (WebhookStatus::Active, failures);
            assert_eq!((health.status, health.failure_count), expected);
        } else {
            assert_eq!(health.status, WebhookStatus::Failed);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counting_failures_does_not_wait_for_other_writers() {
    let (fixture, scene, webhook) = stage().await;
    scene.failed(webhook).await;
    fixture.flush().await;
    let (gate, key) = Gate::before(1);
    let config = fixture.config().interceptor(gate.clone());
    let slow = Follower::of(fixture.store_with(Client::from_conf(config.build())));
    scene.failed(webhook).await;
    let changes = fixture.changes().await;
    let counting = tokio::spawn(async move { followed(&slow, changes).await });
    // It has read the state and is about to add to it; others do the same meanwhile.
    gate.reached().await;
    scene.failed(webhook).await;
    fixture.flush().await;
    key.open();
    counting.await.unwrap();
    assert_eq!(scene.health(webhook).await.failure_count, 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_feed_without_listeners_is_not_written_and_starts_with_a_gap() {
    let (fixture, scene, webhook) = stage().await;
    let follower = Follower::of(fixture.store.clone());
    let (store, tenant) = (&fixture.store, &scene.tenant);
    let kinds = async |seq| {
        let read = store.notifications_after(tenant, seq, 1000).await.unwrap();
        read.into_iter().map(|it| it.kind).collect::<Vec<_>>()
    };
    scene.failed(webhook).await;
    follower.settle(&fixture.changes().await, NOW).await;
    assert_eq!(kinds(0).await, Vec::<String>::new());
    store.listening(tenant, after(1)).await.unwrap();
    assert_eq!(kinds(0).await, ["gap"]);
    scene.failed(webhook).await;
    follower.settle(&fixture.changes().await, after(2)).await;
    assert_eq!(kinds(0).await, ["gap"], "it looks again after five seconds");
    scene.failed(webhook).await;
    follower.settle(&fixture.changes().await, after(6)).await;
    let missed = ["gap", "gap", "delivery.failed"];
    assert_eq!(kinds(0).await, missed, "what was left out is told");
    store.listening(tenant, after(31)).await.unwrap();
    scene.failed(webhook).await;
    follower.settle(&fixture.changes().await, after(90)).await;
    assert_eq!(kinds(0).await.len(), 4, "it was renewed");
    scene.failed(webhook).await;
    follower.settle(&fixture.changes().await, after(96)).await;
    assert_eq!(kinds(0).await.len(), 4, "its listener is gone");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_feed_gets_a_hundred_notifications_a_second_and_a_gap_for_the_rest() {
    let (fixture, scene, webhook) = stage().await;
    let (store, tenant) = (&fixture.store, &scene.tenant);
    store.listening(tenant, NOW).await.unwrap();
    scene.failed(webhook).await;
    let changes = fixture.changes().await;
    let failed = changes
        .iter()
        .filter(|it| it.finished().is_none() && it.before.is_some());
    let many: Vec<_> = failed.cloned().cycle().take(600).collect();
    let follower = Follower::of(fixture.store.clone());
    let one = followed(&follower, many.clone()).await.len();
    follower.settle(&many, after(1)).await;
    follower.settle(&many, after(1)).await;
    follower.settle(&many, after(2)).await;
    let read = store.notifications_after(tenant, 0, 10_000).await.unwrap();
    let gaps = read.iter().filter(|it| it.kind == "gap").count();
    assert!(one > 100, "{one}");
    assert_eq!(read.len() - gaps, 200);
    assert_eq!(
        gaps,
        1 + 1 + 2,
        "at its start, after the first second, and around the next"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_publishers_together_write_a_hundred_notifications_a_second() {
    let (fixture, scene, webhook) = stage().await;
    let (store, tenant) = (&fixture.store, &scene.tenant);
    store.listening(tenant, NOW).await.unwrap();
    scene.failed(webhook).await;
    let changes = fixture.changes().await;
    let failed = changes
        .iter()
        .filter(|it| it.finished().is_none() && it.before.is_some());
    let many: Vec<_> = failed.cloned().cycle().take(400).collect();
    let publishers: Vec<_> = (0..4)
        .map(|_| Follower::of(fixture.store.clone()))
        .collect();
    let settled = publishers
        .iter()
        .map(|publisher| publisher.settle(&many, after(1)));
    futures_util::future::join_all(settled).await;
    let read = store.notifications_after(tenant, 0, 10_000).await.unwrap();
    let gaps = read.iter().filter(|it| it.kind == "gap").count();
    assert_eq!(read.len() - gaps, 100);
    assert_eq!(gaps, 1 + 4, "at its start, and one per publisher");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counters_and_feed_that_cannot_be_written_fail_nothing() {
    let (fixture, scene, webhook) = stage().await;
    scene.failed(webhook).await;
    let changes = fixture.changes().await;
    fixture.hear(&changes).await;
    let config = fixture.config().retry_config(RetryConfig::disabled());
    let faults = Faults::from_write(0, Fault::Throttled);
    let config = config.interceptor(faults.clone()).build();
    let follower = Follower::of(fixture.store_with(Client::from_conf(config)));
    follower.settle(&changes, NOW).await;
    assert!(faults.made() > 0);
    assert_eq!(attempts_counted(&scene, webhook).await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_received_again_by_another_process_fails_the_webhook_once() {
    let (fixture, scene, webhook) = stage().await;
    let id = scene.row(webhook).await;
    let exhausted = Transition::Die {
        cause: DeadCause::ExhaustedFailingWebhook,
    };
    scene.attempt(id, exhausted, after(3)).await;
    let changes = fixture.changes().await;
    for _ in 0..2 {
        let follower = Follower::of(fixture.store.clone());
        let notifications = followed(&follower, changes.clone()).await;
        let version = scene.stored(id).await.version;
        assert_eq!(notifications[0].id, format!("{id}/{version}/delivery.dead"));
    }
    let health = scene.health(webhook).await;
    assert_eq!(
        (health.status, health.changed_at),
        (WebhookStatus::Failed, Some(after(3)))
    );
    let follower = Follower::of(fixture.store.clone());
    let notifications = followed(&follower, fixture.changes().await).await;
    let kinds: Vec<_> = notifications
        .iter()
        .map(|notification| notification.kind.as_str())
        .collect();
    assert_eq!(kinds, ["webhook.failed"]);
    assert_eq!(notifications[0].data["retries"], 0);
}

/// Rows that were in flight may move to the backlog for up to two minutes after a resume, so they are looked for until then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_late_resume_rows_in_the_backlog_are_looked_for_from_then_on() {
    let (fixture, scene, webhook) = stage().await;
    let id = scene.row(webhook).await;
    let exhausted = Transition::Die {
        cause: DeadCause::ExhaustedFailingWebhook,
    };
    scene.attempt(id, exhausted, NOW).await;
    fixture.flush().await;
    let begun = scene.begin_probe(&scene.tenant, webhook, after(60)).await;
    let generation = begun.unwrap().unwrap().generation;
    let passed = scene.probe_passed(&scene.tenant, webhook, generation, after(61));
    passed.await.unwrap();
    let late = after(600);
    let follower = Follower::of(fixture.store.clone());
    for followed in follower.follow(fixture.changes().await, late).await {
        followed.unwrap();
    }
    let health = scene.health(webhook).await;
    assert_eq!(
        (health.status, health.changed_at),
        (WebhookStatus::Active, Some(late))
    );
    let registered = scene.registration(&scene.tenant, webhook).await;
    assert_eq!(registered.unwrap().unwrap().touched_at, late);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_concurrent_followers_lose_no_failure() {
    let (fixture, scene, webhook) = stage().await;
    for _ in 0..10 {
        scene.failed(webhook).await;
    }
    let mut changes = fixture.changes().await;
    fixture.hear(&changes).await;
    let rest = changes.split_off(changes.len() / 2);
    let followers = [(); 2].map(|()| Follower::of(fixture.store.clone()));
    tokio::join!(
        followed(&followers[0], changes.clone()),
        followed(&followers[1], rest.clone())
    );
    tokio::join!(
        fixture.settle(&followers[0], &changes),
        fixture.settle(&followers[1], &rest)
    );
    assert_eq!(scene.health(webhook).await.failure_count, 10);
    assert_eq!(attempts_counted(&scene, webhook).await, 10);
    assert_eq!(scene.notifications().await.len(), 10);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unreadable_change_fails_alone() {
    let (fixture, scene, webhook) = stage().await;
    scene.failed(webhook).await;
    scene.failed(webhook).await;
    let changes = fixture.changes().await;
    let applied = |record: &Record| {
        let status = record.after.as_ref().and_then(|item| item.get("status"));
        status
            .and_then(|status| status.as_s().ok())
            .map(String::as_str)
            == Some("failed")
    };
    let unreadable = changes.iter().position(applied).unwrap();
    let mut batch = changes;
    let image = batch[unreadable].after.as_mut().unwrap();
    image.remove("version");
    fixture.hear(&batch).await;
    let follower = Follower::of(fixture.store.clone());
    let results = follower.follow(batch.clone(), NOW).await;
    fixture.settle(&follower, &batch).await;
    for (index, result) in results.iter().enumerate() {
        assert_eq!(result.is_err(), index == unreadable, "{result:?}");
    }
    assert_eq!(scene.health(webhook).await.failure_count, 1);
    assert_eq!(scene.notification_kinds().await, ["delivery.failed"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_open_row_that_expires_is_reported_as_dead() {
    let (fixture, scene, webhook) = stage().await;
    let (open, closed) = (scene.row(webhook).await, scene.delivered(webhook).await);
    fixture.flush().await;
    for id in [open, closed] {
        let key = |text: String| aws_sdk_dynamodb::types::AttributeValue::S(text);
        let removed = fixture
            .client
            .delete_item()
            .table_name(&fixture.tables.deliveries)
            .key("pk", key(format!("{}#{}", scene.tenant, id.event)))
            .key("sk", key(format!("delivery#{webhook}")));
        removed.send().await.unwrap();
    }
    let follower = Follower::of(fixture.store.clone());
    let notifications = followed(&follower, fixture.changes().await).await;
    assert_eq!(notifications.len(), 1);
    assert_eq!(
        notifications[0].data["webhook_delivery_id"],
        open.to_string()
    );
    assert_eq!(notifications[0].data["reason"], "expired");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_continues_after_its_last_row_has_left_the_index() {
    let (_fixture, scene, webhook) = stage().await;
    for _ in 0..7 {
        scene.failed(webhook).await;
    }
    let failed = Filter {
        status: Some(Status::Failed),
        ..Filter::default()
    };
    let first = scene.page(&failed, 3).await;
    let last = first.items.last().unwrap().id;
    scene.attempt(last, Transition::Deliver, after(60)).await;
    let store = &scene.handle.store;
    let rest = store.list(&scene.tenant, &failed, 10, first.next.as_ref());
    assert_eq!(rest.await.unwrap().items.len(), 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counters_that_cannot_be_added_to_start_again_and_stop_nothing() {
    let (fixture, scene, webhook) = stage().await;
    let text = |text: String| aws_sdk_dynamodb::types::AttributeValue::S(text);
    let spoiled = fixture
        .client
        .put_item()
        .table_name(&fixture.tables.deliveries)
        .item("pk", text(format!("{}#{webhook}", scene.tenant)))
        .item("sk", text(format!("stats#{:013}", NOW.hour().as_millis())))
        .item("attempts", text("many".to_owned()));
    spoiled.send().await.unwrap();
    assert_eq!(attempts_counted(&scene, webhook).await, 0);
    scene.failed(webhook).await;
    let mut changes = fixture.changes().await;
    for change in &mut changes {
        change.at = NOW;
    }
    let follower = Follower::of(fixture.store.clone());
    assert_eq!(followed(&follower, changes.clone()).await.len(), 1);
    fixture.settle(&follower, &changes).await;
    assert_eq!(attempts_counted(&scene, webhook).await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unreadable_row_hides_no_others_from_a_list() {
    let (fixture, scene, webhook) = stage().await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(scene.dead(webhook).await);
    }
    let text = |text: String| aws_sdk_dynamodb::types::AttributeValue::S(text);
    let spoiled = fixture
        .client
        .update_item()
        .table_name(&fixture.tables.deliveries)
        .key("pk", text(format!("{}#{}", scene.tenant, ids[1].event)))
        .key("sk", text(format!("delivery#{webhook}")))
        .update_expression("SET event_type = :spoiled")
        .expression_attribute_values(":spoiled", text("not a type".to_owned()));
    spoiled.send().await.unwrap();
    let dead = Filter {
        status: Some(Status::Dead),
        ..Filter::default()
    };
    let mut found: Vec<_> = scene.all(&dead, 2).await.iter().map(|row| row.id).collect();
    found.sort();
    let mut expected = vec![ids[0], ids[2]];
    expected.sort();
    assert_eq!(found, expected);
}
