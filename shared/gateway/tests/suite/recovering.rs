//! How dispatcher and poller functions handle a failing receiver.

use std::collections::BTreeMap;

use postrider_domain::delivery::Status;
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::{DeliveryId, WebhookId};
use postrider_domain::retry::{Profile, RetrySettings};
use postrider_domain::time::{Millis, Timestamp};
use postrider_domain::webhook::WebhookDraft;
use postrider_gateway::worker::queue::{Handled, Needless};
use postrider_ports::clock::Clock;
use postrider_ports::queue::{ProbeMessage, Queue, QueueMessage};
use postrider_testkit::builders::NOW as BEGIN;
use postrider_testkit::receiver::Answer;

use crate::stage::{Stage, tenant};

const SECONDS: fn(u64) -> Millis = Millis::from_seconds;

fn draft() -> WebhookDraft {
    WebhookDraft {
        retry_rate: Some(8),
        auto_resume: Some(true),
        retry: Some(RetrySettings {
            profile: Profile::PublicApi,
            jitter_bps: Some(0),
            max_attempts: Some(1),
            ..RetrySettings::default()
        }),
        ..WebhookDraft::default()
    }
}

async fn status(stage: &Stage, webhook: WebhookId) -> WebhookStatus {
    let found = stage.gateway.manage.get(&tenant(), webhook).await;
    found.unwrap().health.status
}

async fn failed(stage: &Stage) -> WebhookId {
    let webhook = stage.webhook_with(draft()).await;
    stage.receiver.answer(Answer::status(500));
    stage.publish(webhook).await;
    stage.handle(stage.line.take()).await;
    assert_eq!(status(stage, webhook).await, WebhookStatus::Failed);
    webhook
}

/// Simulates the queue: hands over each message when it is due and runs the poller's chores every minute. Returns the
/// number of attempts per second and the number of messages handled.
async fn run(stage: &Stage, span: Millis) -> (BTreeMap<i64, usize>, usize) {
    let (begin, mut waiting) = (stage.clock.now(), stage.line.take());
    let (end, mut chores_at) = (begin.plus(span), begin);
    let (mut sent, mut handled) = (BTreeMap::new(), 0);
    loop {
        if stage.clock.now() >= chores_at {
            stage.chores().await;
            chores_at = chores_at.plus(SECONDS(60));
        }
        waiting.extend(stage.line.take());
        waiting.sort_by_key(|message| message.not_before().unwrap());
        let due =
            waiting.partition_point(|message| message.not_before().unwrap() <= stage.clock.now());
        let batch: Vec<QueueMessage> = waiting.drain(..due.min(10)).collect();
        if batch.is_empty() {
            if stage.clock.now() >= end {
                return (sent, handled);
            }
            let next = waiting
                .first()
                .map_or(end, |message| message.not_before().unwrap());
            stage.clock.set(next.min(chores_at).min(end));
            continue;
        }
        handled += batch.len();
        for answer in stage.handle(batch).await {
            if answer == Ok(Handled::Attempted) {
                let second = stage.clock.now().since(begin).get() / 1000;
                *sent.entry(i64::try_from(second).unwrap()).or_default() += 1;
            }
        }
    }
}

async fn all_delivered(stage: &Stage, ids: &[DeliveryId]) -> bool {
    for id in ids {
        if stage.row(*id).await.status != Status::Delivered {
            return false;
        }
    }
    true
}

#[tokio::test]
async fn first_attempts_of_a_slowed_webhook_take_turns_or_are_set_aside() {
    let stage = Stage::set().await;
    let webhook = stage.webhook_with(draft()).await;
    stage.receiver.answer(Answer::status(429));
    stage.publish(webhook).await;
    stage.handle(stage.line.take()).await;
    // The webhook has failed. An operator resumes it, and it starts at 1/s.
    stage
        .gateway
        .manage
        .resume(&tenant(), webhook)
        .await
        .unwrap();
    assert_eq!(stage.rate(webhook).await, 1000);
    stage.receiver.answer(Answer::status(200));
    let mut ids = Vec::new();
    for _ in 0..200 {
        ids.push(stage.publish(webhook).await);
    }
    let (sent, handled) = run(&stage, SECONDS(300)).await;
    assert!(all_delivered(&stage, &ids).await);
    assert!(sent.values().all(|count| *count <= 8), "{sent:?}");
    assert!(sent[&0] <= 2, "{sent:?}");
    // One message when it was published, one at its turn.
    assert!(handled <= 2 * ids.len(), "{handled} messages");
    assert_eq!(stage.rate(webhook).await, 8000);
}

#[tokio::test]
async fn a_resumed_webhook_is_tried_and_the_others_keep_waiting_if_that_fails() {
    let stage = Stage::set().await;
    let webhook = failed(&stage).await;
    let mut ids = Vec::new();
    for _ in 0..20 {
        ids.push(stage.publish(webhook).await);
    }
    stage.line.take();
    let before = stage.receiver.requests().len();
    stage
        .gateway
        .manage
        .resume(&tenant(), webhook)
        .await
        .unwrap();
    let probes = stage.line.take();
    assert_eq!(probes.len(), 3, "only the probes");
    stage.line.send(probes).await;
    assert_eq!(status(&stage, webhook).await, WebhookStatus::Active);
    run(&stage, SECONDS(30)).await;
    assert_eq!(status(&stage, webhook).await, WebhookStatus::Failed);
    let attempted = stage.receiver.requests().len() - before;
    assert!(attempted <= 3, "{attempted}");
    stage.receiver.answer(Answer::status(200));
    stage
        .gateway
        .manage
        .resume(&tenant(), webhook)
        .await
        .unwrap();
    run(&stage, SECONDS(300)).await;
    let mut delivered = 0;
    for id in &ids {
        delivered += usize::from(stage.row(*id).await.status == Status::Delivered);
    }
    assert_eq!(
        delivered,
        ids.len() - attempted,
        "only what was exhausted is dead"
    );
}

/// Its cache may be five seconds old, from before the resume.
#[tokio::test]
async fn attempts_after_a_resume_count_even_with_an_outdated_cache() {
    let stage = Stage::set().await;
    let dispatcher = stage.dispatcher();
    let webhook = stage.webhook_with(draft()).await;
    stage.receiver.answer(Answer::status(500));
    stage.publish(webhook).await;
    dispatcher
        .handle(stage.line.take(), stage.in_a_minute())
        .await;
    assert_eq!(status(&stage, webhook).await, WebhookStatus::Failed);
    for _ in 0..5 {
        stage.publish(webhook).await;
    }
    stage.line.take();
    let resumed = stage.gateway.manage.resume(&tenant(), webhook).await;
    assert_eq!(resumed.unwrap().health.status, WebhookStatus::Active);
    let probes = stage.line.take();
    assert_eq!(probes.len(), 3);
    // This exhausts the first one.
    let parked = Handled::Dropped(Needless::Parked);
    for (probe, expected) in probes.into_iter().zip([Handled::Attempted, parked, parked]) {
        stage.clock.set(probe.not_before().unwrap());
        let handled = dispatcher.handle(vec![probe], stage.in_a_minute()).await;
        assert_eq!(handled, [Ok(expected)]);
    }
    assert!(stage.clock.now().since(BEGIN) < SECONDS(5));
    assert_eq!(status(&stage, webhook).await, WebhookStatus::Failed);
}

#[tokio::test]
async fn a_probe_is_sent_once_however_many_workers_are_asked() {
    let stage = Stage::set().await;
    let webhook = failed(&stage).await;
    let waiting = stage.publish(webhook).await;
    stage.line.take();
    stage.chores().await;
    assert_eq!(stage.line.take(), [], "not yet");
    stage.clock.advance(SECONDS(60));
    stage.chores().await;
    let messages = stage.line.take();
    assert_eq!(
        messages,
        [QueueMessage::from(ProbeMessage {
            tenant: tenant(),
            webhook
        })]
    );
    let before = stage.receiver.requests().len();
    let (one, other) = (stage.dispatcher(), stage.dispatcher());
    let (one, other) = tokio::join!(
        one.handle(messages.clone(), stage.in_a_minute()),
        other.handle(messages.clone(), stage.in_a_minute())
    );
    let results = [one, other].concat().into_iter();
    assert_eq!(
        results
            .filter(|handled| *handled == Ok(Handled::Probed))
            .count(),
        1
    );
    assert_eq!(stage.receiver.requests().len(), before + 1);
    assert_eq!(status(&stage, webhook).await, WebhookStatus::Failed);
    stage.clock.advance(SECONDS(120));
    stage.receiver.answer(Answer::status(200));
    stage.chores().await;
    assert_eq!(stage.handle(stage.line.take()).await, [Ok(Handled::Probed)]);
    assert_eq!(status(&stage, webhook).await, WebhookStatus::Active);
    let late = Ok(Handled::Dropped(Needless::Superseded));
    assert_eq!(
        stage.handle(messages).await,
        [late],
        "there is nothing to probe"
    );
    run(&stage, SECONDS(5)).await;
    assert_eq!(stage.row(waiting).await.status, Status::Delivered);
}

#[tokio::test]
async fn deliveries_at_the_full_rate_do_not_change_the_rate() {
    let stage = Stage::set().await;
    let webhook = stage.webhook_with(draft()).await;
    for _ in 0..10 {
        stage.publish(webhook).await;
    }
    stage.handle(stage.line.take()).await;
    let paces = stage.gateway.ports.store.paces(&tenant(), &[webhook]).await;
    assert_eq!(paces.unwrap()[0].free_at_us, 0, "no turn was taken");
    assert_eq!(stage.clock.now(), Timestamp::from_millis(1_771_668_000_000));
}
