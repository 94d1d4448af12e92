//! Calls that fail in transit: nothing acknowledged is lost, and repeating a call completes it.

use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use postrider_adapter_aws::dynamodb::DynamoStore;
use postrider_domain::decide::Transition;
use postrider_domain::delivery::Delivery;
use postrider_domain::ids::DeliveryId;
use postrider_ports::configs::Webhooks;
use postrider_ports::deliveries::{Acceptance, Accepted, Applied, Claim, Deliveries, EventIdFrom};
use postrider_ports::history::History;
use postrider_ports::interventions::Interventions;
use postrider_ports::queue::AttemptMessage;
use postrider_testkit::builders::{NOW, after, completion};
use postrider_testkit::store_suite::{Fixture, Scene};

use crate::support::faults::{Fault, Faults};
use crate::support::{Dynamo, fixture};

/// A store whose calls fail this way, and which does not retry automatically.
fn failing(tables: &Dynamo, faults: &Faults) -> Arc<DynamoStore> {
    let config = tables.config().retry_config(RetryConfig::disabled());
    let config = config.interceptor(faults.clone());
    tables.store_with(Client::from_conf(config.build()))
}

#[tokio::test]
async fn throttling_lost_answers_and_lost_connections_are_transient() {
    let tables = fixture().await;
    for fault in [Fault::Throttled, Fault::AnswerLost, Fault::Unreachable] {
        let store = failing(&tables, &Faults::at(0, fault));
        let version = store.webhooks_version(&Default::default()).await;
        assert!(version.unwrap_err().is_transient(), "{fault:?}");
        let again = store.webhooks_version(&Default::default()).await;
        assert_eq!(again, Ok(0), "the next call succeeds");
    }
}

#[tokio::test]
async fn a_missing_table_is_not_transient() {
    let mut tables = fixture().await;
    tables.tables.configs.push_str("-misspelt");
    let store = tables.store_with(tables.client.clone());
    let version = store.webhooks_version(&Default::default()).await;
    assert!(!version.unwrap_err().is_transient());
}

/// Whatever was stored when the process ended: the repeated call stores the rest and reports it, and nothing else.
#[tokio::test]
async fn repeating_an_interrupted_accept_completes_it() {
    let tables = fixture().await;
    let scene = Scene::of(tables.handle());
    let mut webhooks = Vec::new();
    for _ in 0..5 {
        webhooks.push(scene.webhook().await.id);
    }
    for fault in [Fault::Unreachable, Fault::AnswerLost] {
        for interrupted_at in 0..7 {
            let acceptance = scene.plan(scene.event(NOW), &webhooks).await;
            let faults = Faults::from(interrupted_at, fault);
            let broken = failing(&tables, &faults);
            let failed = broken.accept(vec![acceptance.clone()]).await.remove(0);
            assert!(failed.unwrap_err().is_transient());
            let mut missing = Vec::new();
            for new in &acceptance.rows {
                if stored(&tables, new.id).await.is_none() {
                    missing.push(AttemptMessage::of(new));
                }
            }
            let event = tables.store.event(&scene.tenant, acceptance.event.id).await;
            let was_there = event.unwrap().is_some();
            match scene.accept_one(acceptance.clone()).await.unwrap() {
                Accepted::New => assert!(!was_there && missing.len() == 5),
                Accepted::Duplicate {
                    deliveries,
                    completed,
                    ..
                } => {
                    assert!(was_there);
                    assert_eq!(deliveries.len(), 5);
                    assert_eq!(completed, missing);
                }
                other @ (Accepted::Conflict | Accepted::Outdated) => panic!("{other:?}"),
            }
            for new in &acceptance.rows {
                let row = stored(&tables, new.id).await.unwrap();
                let signature = row.signature.clone();
                assert_eq!(
                    row,
                    Delivery {
                        signature,
                        ..new.clone()
                    }
                );
            }
        }
    }
}

/// Also if the repeated call stores the row that it is counted with.
#[tokio::test]
async fn an_event_whose_accept_was_interrupted_is_counted_once() {
    let tables = fixture().await;
    let scene = Scene::of(tables.handle());
    let webhooks = [scene.webhook().await.id, scene.webhook().await.id];
    // The version of the webhooks is read first; the event and its two rows follow.
    for interrupted_at in 1..4 {
        let acceptance = scene.plan(scene.event(NOW), &webhooks).await;
        let store = failing(&tables, &Faults::at(interrupted_at, Fault::Unreachable));
        let failed = store.accept(vec![acceptance.clone()]).await.remove(0);
        assert!(failed.unwrap_err().is_transient());
        scene.accept_one(acceptance.clone()).await.unwrap();
        for row in acceptance.rows {
            scene.attempt(row.id, Transition::Deliver, NOW).await;
        }
    }
    tables.flush().await;
    let (from, to) = (NOW.hour(), after(7_200));
    let stats = tables.store.stats(&scene.tenant, None, from, to).await;
    let published = stats.unwrap().iter().map(|one| one.published).sum::<u64>();
    assert_eq!(published, 3);
}

async fn stored(tables: &Dynamo, id: DeliveryId) -> Option<Delivery> {
    let tenant = Default::default();
    tables.store.delivery(&tenant, id).await.unwrap()
}

/// The owner of the claim has it, and no other.
#[tokio::test]
async fn a_claim_whose_answer_was_lost_is_repeated_by_its_owner() {
    let tables = fixture().await;
    let scene = Scene::of(tables.handle());
    let id = scene.row(scene.webhook().await.id).await;
    let wanted = scene.wanted(id, NOW);
    // The webhook's state is read first; row and event follow together.
    let store = failing(&tables, &Faults::from(1, Fault::AnswerLost));
    let lost = store.claim(vec![wanted.clone()], NOW).await.remove(0);
    assert!(lost.unwrap_err().is_transient());
    let version = scene.stored(id).await.version;
    assert_eq!(version, 1, "the claim took effect");
    assert!(matches!(
        scene.try_claim(id, NOW).await,
        Claim::Unclaimable(_)
    ));
    let again = scene.claim_as(wanted, NOW).await;
    let Claim::Claimed(delivery) = again else {
        panic!("{again:?}");
    };
    assert_eq!(delivery.claimed.version(), 1);
}

/// Recorded once, wherever the call was interrupted.
#[tokio::test]
async fn repeating_an_interrupted_apply_completes_it() {
    let tables = fixture().await;
    let scene = Scene::of(tables.handle());
    let webhook = scene.webhook().await.id;
    for fault in [Fault::Throttled, Fault::AnswerLost] {
        for interrupted_at in 0..2 {
            let id = scene.row(webhook).await;
            let claimed = scene.claimed(id, NOW).await;
            let retry = Transition::Retry {
                next_retry_at: after(60),
            };
            let done = completion(&claimed, retry, NOW);
            let store = failing(&tables, &Faults::from(interrupted_at, fault));
            let failed = store.apply(&claimed, done.clone(), NOW).await;
            assert!(failed.unwrap_err().is_transient());
            let again = scene.apply(&claimed, done.clone(), NOW).await.unwrap();
            let expected = claimed.delivery().completed(&done);
            assert_eq!(again, Applied::Done(Box::new(expected.clone())));
            assert_eq!(scene.stored(id).await, expected);
            let attempts = scene.attempts(&scene.tenant, id).await.unwrap();
            assert_eq!(attempts, [done.attempt]);
        }
    }
}

/// An attempt that was written but that the row never referred to does not count.
#[tokio::test]
async fn an_attempt_that_the_row_does_not_refer_to_is_not_shown() {
    let tables = fixture().await;
    let scene = Scene::of(tables.handle());
    let id = scene.row(scene.webhook().await.id).await;
    let claimed = scene.claimed(id, NOW).await;
    let retry = |at| Transition::Retry { next_retry_at: at };
    let done = completion(&claimed, retry(after(60)), NOW);
    let store = failing(&tables, &Faults::from(1, Fault::Unreachable));
    assert!(store.apply(&claimed, done, NOW).await.is_err());
    // The lease ends; another owner attempts it.
    scene.attempt(id, retry(after(90)), after(30)).await;
    let attempts = scene.attempts(&scene.tenant, id).await.unwrap();
    let seen: Vec<_> = attempts
        .iter()
        .map(|one| (one.number, one.version))
        .collect();
    assert_eq!(seen, [(1, 2)]);
}

/// The client's own retries cover a short interruption: the caller does not notice.
#[tokio::test]
async fn a_single_lost_answer_is_not_noticed() {
    let tables = fixture().await;
    let scene = Scene::of(tables.handle());
    let webhook = scene.webhook().await.id;
    for interrupted_at in 0..3 {
        let faults = Faults::at(interrupted_at, Fault::AnswerLost);
        let config = tables.config().interceptor(faults.clone());
        let store = tables.store_with(Client::from_conf(config.build()));
        // A repeated put of the event meets the first one. Without a key, it can only be this call's own.
        let acceptance = Acceptance {
            event_id: EventIdFrom::Chance,
            ..scene.plan(scene.event(NOW), &[webhook]).await
        };
        let id = acceptance.rows[0].id;
        let accepted = store.accept(vec![acceptance]).await.remove(0).unwrap();
        assert_eq!(accepted, Accepted::New, "its messages are sent");
        assert!(faults.made() > 3, "one call was repeated");
        let wanted = scene.wanted(id, NOW);
        let claims = store.claim(vec![wanted], NOW).await;
        assert!(matches!(claims[0], Ok(Claim::Claimed(_))));
    }
}

#[tokio::test]
async fn a_deleted_webhook_whose_rows_cannot_be_read_does_not_hold_up_the_next_one() {
    let tables = fixture().await;
    let scene = Scene::of(tables.handle());
    let mut webhooks = [scene.webhook().await.id, scene.webhook().await.id];
    webhooks.sort_by_key(ToString::to_string);
    let row = scene.row(webhooks[1]).await;
    for webhook in webhooks {
        let deleted = scene.delete_webhook(&scene.tenant, webhook, NOW);
        deleted.await.unwrap();
    }
    // The markers are read first, then the rows of the first webhook.
    let store = failing(&tables, &Faults::at(1, Fault::Throttled));
    let ended = store.end_deliveries_of_deleted_webhooks(10, NOW).await;
    assert_eq!(ended, Ok(1));
    assert!(!stored(&tables, row).await.unwrap().status.is_open());
    let store = failing(&tables, &Faults::at(1, Fault::Throttled));
    let ended = store.end_deliveries_of_deleted_webhooks(10, NOW).await;
    assert!(ended.is_err(), "the caller hears of it in the end");
}
