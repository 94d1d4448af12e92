//! The lanes of backlogs, and the registrations that make sure that none is forgotten.

use aws_sdk_dynamodb::types::AttributeValue;
use postrider_domain::decide::Transition;
use postrider_domain::delivery::{DeadCause, Force, Status, Unclaimable};
use postrider_domain::flow::AttemptKind;
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::{DeliveryId, WebhookId};
use postrider_ports::Error;
use postrider_ports::configs::Created;
use postrider_ports::deliveries::Claim;
use postrider_ports::drains::{BacklogPart, BacklogSize, Postponed, Registration, Round};
use postrider_ports::history::Cursor;
use postrider_ports::interventions::Requeued;
use postrider_testkit::builders::{self, NOW, acceptance, after};
use postrider_testkit::store_suite::{Fixture, Scene};

use crate::support::fixture;

async fn registered(scene: &Scene) -> Vec<Registration> {
    let mut found = Vec::new();
    for shard in 0..scene.shards() {
        let mut after = None;
        loop {
            let page = scene.registrations(shard, 2, after.as_ref()).await.unwrap();
            found.extend(page.items);
            match page.next {
                Some(next) => after = Some(next),
                None => break,
            }
        }
    }
    found
}

async fn postponed(scene: &Scene, id: DeliveryId) -> Postponed {
    let row = scene.stored(id).await;
    Postponed {
        tenant: row.tenant.clone(),
        id,
        kind: AttemptKind::of(&row),
        next_retry_at: row.next_retry_at.unwrap(),
    }
}

fn is_in_backlog(claim: &Claim) -> bool {
    matches!(claim, Claim::Unclaimable(Unclaimable::InBacklog))
}

#[tokio::test]
async fn a_moved_row_is_attempted_by_its_drainer_and_by_no_message() {
    let tables = fixture().await;
    let scene = Scene::of(tables.handle());
    let webhook = scene.webhook().await.id;
    let (first, retry) = (scene.row(webhook).await, scene.failed(webhook).await);
    assert!(is_held(&scene.try_drain(first, NOW).await), "not there yet");
    for id in [first, retry] {
        scene.postpone(id, after(60)).await;
    }
    assert_eq!(scene.waiting(webhook, AttemptKind::First).await, [first]);
    assert_eq!(scene.waiting(webhook, AttemptKind::Retry).await, [retry]);
    for id in [first, retry] {
        assert!(is_in_backlog(&scene.try_claim(id, after(60)).await));
        assert!(matches!(
            scene.try_drain(id, after(60)).await,
            Claim::Claimed(_)
        ));
    }
}

fn is_held(claim: &Claim) -> bool {
    matches!(claim, Claim::Unclaimable(Unclaimable::Held))
}

#[tokio::test]
async fn a_held_changed_or_finished_row_is_not_moved() {
    let tables = fixture().await;
    let scene = Scene::of(tables.handle());
    let webhook = scene.webhook().await.id;
    let mut rows = Vec::new();
    let mut ids = Vec::new();
    for _ in 0..3 {
        let id = scene.row(webhook).await;
        rows.push(postponed(&scene, id).await);
        ids.push(id);
    }
    scene.claimed(ids[0], NOW).await;
    let retry = Transition::Retry {
        next_retry_at: after(60),
    };
    scene.attempt(ids[1], retry, NOW).await;
    scene.attempt(ids[2], Transition::Deliver, NOW).await;
    let before = [
        scene.stored(ids[0]).await,
        scene.stored(ids[1]).await,
        scene.stored(ids[2]).await,
    ];
    for moved in scene.move_to_backlog(rows, after(1)).await {
        moved.unwrap();
    }
    for row in before {
        assert_eq!(scene.stored(row.id).await, row);
    }
}

#[tokio::test]
async fn a_drainer_leaves_the_rows_of_a_stopped_webhook_as_they_are() {
    let tables = fixture().await;
    let scene = Scene::of(tables.handle());
    let webhook = scene.webhook().await.id;
    scene.limit(webhook, 10, NOW).await;
    let id = scene.waiting_row_at(webhook, NOW).await;
    scene.set_status(webhook, WebhookStatus::Paused).await;
    let before = scene.stored(id).await;
    assert!(is_in_backlog(&scene.try_drain(id, NOW).await));
    assert_eq!(scene.stored(id).await, before);
    scene.set_status(webhook, WebhookStatus::Active).await;
    assert!(matches!(scene.try_drain(id, NOW).await, Claim::Claimed(_)));
}

#[tokio::test]
async fn a_delivery_of_a_limited_webhook_is_requeued_into_its_backlog() {
    let tables = fixture().await;
    let scene = Scene::of(tables.handle());
    let webhook = scene.webhook().await.id;
    let dead = scene.dead(webhook).await;
    scene.limit(webhook, 10, NOW).await;
    let requeued = scene
        .requeue(&scene.tenant, dead, Force::No, after(1))
        .await;
    assert!(matches!(requeued, Ok(Requeued::Done(_))));
    assert_eq!(scene.waiting(webhook, AttemptKind::Retry).await, [dead]);
}

#[tokio::test]
async fn a_row_that_has_outlived_its_event_is_ended() {
    let tables = fixture().await;
    let scene = Scene::of(tables.handle());
    let webhook = scene.webhook().await.id;
    let (by_message, by_drain) = (scene.row(webhook).await, scene.row(webhook).await);
    scene.postpone(by_drain, NOW).await;
    for id in [by_message, by_drain] {
        let delete = tables.client.delete_item();
        let delete = delete.table_name(&tables.tables.deliveries);
        let pk = format!("{}#{}", scene.tenant, id.event);
        let delete = delete.key("pk", aws_sdk_dynamodb::types::AttributeValue::S(pk));
        let sk = aws_sdk_dynamodb::types::AttributeValue::S("event".to_owned());
        delete.key("sk", sk).send().await.unwrap();
    }
    let claims = [
        scene.try_claim(by_message, NOW).await,
        scene.try_drain(by_drain, NOW).await,
    ];
    for (claim, id) in claims.into_iter().zip([by_message, by_drain]) {
        assert!(matches!(claim, Claim::Unclaimable(Unclaimable::Closed)));
        let row = scene.stored(id).await;
        assert_eq!(
            (row.status, row.dead_cause),
            (Status::Dead, Some(DeadCause::EventExpired))
        );
    }
}

/// From its first row on, which needs a registration.
#[tokio::test]
async fn rows_of_a_capped_webhook_are_requeued_into_its_backlog() {
    let tables = fixture().await;
    let scene = Scene::of(tables.handle());
    let mut webhook = builders::webhook(&scene.tenant, 77);
    webhook.settings.max_in_flight = Some(1);
    let id = webhook.id;
    let created = scene.create_webhook(webhook).await;
    assert_eq!(created, Ok(Created::Done));
    let registrations = registered(&scene).await;
    assert!(registrations.iter().any(|one| one.webhook == id));
    let row = scene.waiting_row_at(id, NOW).await;
    let Claim::Claimed(delivery) = scene.try_drain(row, NOW).await else {
        panic!("its drainer claims it");
    };
    let dead = Transition::Die {
        cause: DeadCause::Exhausted,
    };
    scene.finish(&delivery.claimed, dead, after(1)).await;
    let requeued = scene.requeue(&scene.tenant, row, Force::No, after(2)).await;
    assert!(matches!(requeued, Ok(Requeued::Done(_))), "{requeued:?}");
    assert!(is_in_backlog(&scene.try_claim(row, after(3)).await));
    assert_eq!(scene.waiting(id, AttemptKind::Retry).await, [row]);
}

#[tokio::test]
async fn pages_of_a_backlog_reach_its_end_and_it_is_counted() {
    const ROWS: usize = 60;
    let tables = fixture().await;
    let scene = Scene::of(tables.handle());
    let webhook = scene.webhook().await.id;
    let size = async || {
        scene
            .backlog_size(&scene.tenant, webhook, NOW)
            .await
            .unwrap()
    };
    assert_eq!(size().await, BacklogSize::Exactly(0));
    scene.limit(webhook, 10, NOW).await;
    let version = scene.version().await;
    let batch = (0..ROWS).map(|_| acceptance(scene.event(NOW), &[webhook], version));
    let batch: Vec<_> = batch.collect();
    let ids: Vec<_> = batch.iter().map(|one| one.rows[0].id).collect();
    for accepted in scene.accept(batch).await {
        accepted.unwrap();
    }
    for id in ids {
        scene.postpone(id, NOW).await;
    }
    assert_eq!(size().await, BacklogSize::Exactly(ROWS as u64));
    let mut found = 0;
    for shard in 0..scene.shards() {
        let part = BacklogPart {
            webhook,
            kind: AttemptKind::First,
            shard,
        };
        let mut after = None;
        loop {
            let rows = scene.backlog_rows(&scene.tenant, part, 2, after.as_ref());
            let rows = rows.await.unwrap();
            assert!(rows.messages.len() <= 2);
            found += rows.messages.len();
            match rows.next {
                Some(next) => after = Some(next),
                None => break,
            }
        }
    }
    assert_eq!(found, ROWS);
}

#[tokio::test]
async fn whatever_may_lead_to_a_backlog_registers_it() {
    let tables = fixture().await;
    let scene = Scene::of(tables.handle());
    let mut expected = Vec::new();
    let mut add = |webhook: WebhookId| {
        expected.push(Registration {
            tenant: scene.tenant.clone(),
            webhook,
            touched_at: NOW,
        });
    };
    scene.webhook().await;
    for status in [
        WebhookStatus::Paused,
        WebhookStatus::Failed,
        WebhookStatus::Disabled,
    ] {
        let webhook = scene.webhook().await.id;
        scene.set_status(webhook, status).await;
        add(webhook);
    }
    let limited = scene.webhook().await.id;
    scene.limit(limited, 5, NOW).await;
    add(limited);
    let moved = scene.webhook().await.id;
    let registered_at = scene.register_backlog(&scene.tenant, moved, NOW);
    registered_at.await.unwrap();
    add(moved);
    let mut found = registered(&scene).await;
    found.sort_by_key(|one| one.webhook);
    expected.sort_by_key(|one| one.webhook);
    assert_eq!(found, expected);
}

#[tokio::test]
async fn a_registration_that_was_renewed_is_not_removed() {
    let tables = fixture().await;
    let scene = Scene::of(tables.handle());
    let webhook = scene.webhook().await.id;
    let register = async |now| {
        let registered = scene.register_backlog(&scene.tenant, webhook, now);
        registered.await.unwrap();
        let there = scene.registration(&scene.tenant, webhook).await;
        there.unwrap().unwrap()
    };
    let old = register(NOW).await;
    let renewed = register(after(30)).await;
    scene.unregister_backlog(&old).await.unwrap();
    let there = registered(&scene).await;
    assert_eq!(there, std::slice::from_ref(&renewed));
    scene.unregister_backlog(&renewed).await.unwrap();
    assert_eq!(registered(&scene).await, []);
}

#[tokio::test]
async fn opening_renews_the_registration() {
    let tables = fixture().await;
    let scene = Scene::of(tables.handle());
    let webhook = scene.webhook().await.id;
    let limiter = scene.limit(webhook, 5, NOW).await;
    let lease = postrider_ports::drains::DrainLease {
        owner: "a".to_owned(),
        taken_at: after(100),
    };
    scene.take_lease(webhook, &lease).await.unwrap();
    let opened = postrider_domain::flow::Limiter {
        limited: false,
        epoch: limiter.epoch + 1,
        opened_at: after(100),
        ..limiter
    };
    let stored = scene.store_limiter(&scene.tenant, webhook, &lease, limiter.epoch, opened);
    stored.await.unwrap();
    let there = scene.registration(&scene.tenant, webhook).await.unwrap();
    assert_eq!(there.unwrap().touched_at, after(100));
}

/// Over all workers; answers that are not retried, and deliveries, end the row.
#[tokio::test]
async fn failures_in_a_row_are_counted_from_the_stream() {
    let tables = fixture().await;
    let scene = Scene::of(tables.handle());
    let webhook = scene.webhook().await.id;
    let retry = Transition::Retry {
        next_retry_at: after(900),
    };
    let exhausted = Transition::Die {
        cause: DeadCause::Exhausted,
    };
    let rejected = Transition::Die {
        cause: DeadCause::Rejected,
    };
    let mut now = 0;
    for (transition, expected) in [
        (retry, 1),
        (exhausted, 2),
        (retry, 3),
        (rejected, 0),
        (retry, 1),
        (Transition::Deliver, 0),
        (retry, 1),
    ] {
        now += 1;
        scene.outcome(webhook, transition, after(now)).await;
        tables.flush().await;
        assert_eq!(scene.flow(webhook).await.failed_in_a_row, expected);
    }
}

#[tokio::test]
async fn what_cannot_be_read_hides_no_other_backlog() {
    let fixture = fixture().await;
    let scene = Scene::of(fixture.handle());
    let (sound, spoiled) = (scene.webhook().await.id, scene.webhook().await.id);
    for webhook in [sound, spoiled] {
        let registered = scene.register_backlog(&scene.tenant, webhook, NOW);
        registered.await.unwrap();
    }
    let text = |text: &str| AttributeValue::S(text.to_owned());
    for shard in 0..scene.shards() {
        let table = &fixture.tables.deliveries;
        let garbage = fixture.client.put_item().table_name(table);
        let garbage = garbage
            .item("pk", text(&format!("#backlogs#{shard:02}")))
            .item("sk", text("!garbage"));
        garbage.send().await.unwrap();
    }
    let spoil = fixture
        .client
        .update_item()
        .table_name(&fixture.tables.deliveries)
        .key("pk", text(&format!("{}#{spoiled}", scene.tenant)))
        .key("sk", text("flow"))
        .update_expression("SET epoch = :spoiled")
        .expression_attribute_values(":spoiled", text("not a number"));
    spoil.send().await.unwrap();
    let found = registered(&scene).await;
    let mut found: Vec<_> = found.iter().map(|one| one.webhook).collect();
    found.sort();
    let mut expected = vec![sound, spoiled];
    expected.sort();
    assert_eq!(found, expected);
    let named = [sound, spoiled].map(|webhook| (scene.tenant.clone(), webhook));
    let flows = scene.flows(&named).await;
    assert!(matches!(flows[0], Ok(Some(_))), "{flows:?}");
    assert!(matches!(flows[1], Err(Error::Broken(_))), "{flows:?}");
}

#[tokio::test]
async fn a_round_is_continued_where_it_was_stored() {
    let fixture = fixture().await;
    let scene = Scene::of(fixture.handle());
    assert_eq!(scene.round().await, Ok(Round::default()));
    let cut_short = Round {
        left: [(3, Some(Cursor("here".to_owned()))), (5, None)].into(),
        oldest_due_at: Some(NOW),
    };
    scene.store_round(&cut_short).await.unwrap();
    assert_eq!(scene.round().await, Ok(cut_short));
}
