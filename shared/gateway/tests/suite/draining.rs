//! How dispatchers and drainers share the flow to a webhook.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use postrider_domain::delivery::Status;
use postrider_domain::flow::Limiter;
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::{DeliveryId, WebhookId};
use postrider_domain::retry::{Profile, RetrySettings};
use postrider_domain::time::Millis;
use postrider_domain::webhook::WebhookDraft;
use postrider_gateway::worker::drain::Drained;
use postrider_gateway::worker::queue::Handled;
use postrider_ports::clock::Clock;
use postrider_ports::drains::{DrainEnd, DrainLease};
use postrider_ports::queue::{AttemptMessage, DrainMessage, QueueMessage};
use postrider_ports::sender::{Post, Posted, Sender};
use postrider_testkit::receiver::Answer;

use crate::stage::{Stage, real_time_passes, tenant};

const SECONDS: fn(u64) -> Millis = Millis::from_seconds;

/// Rows that failed once, and the queue messages of their retries, all due now.
async fn failed_rows(stage: &Stage, webhook: WebhookId, count: usize) -> Vec<AttemptMessage> {
    stage.receiver.answer(Answer::status(500));
    for _ in 0..count {
        stage.publish(webhook).await;
    }
    stage.handle(stage.line.take_attempts()).await;
    let messages = stage.line.take_attempts();
    stage.clock.advance(SECONDS(30));
    stage.receiver.answer(Answer::status(200));
    messages
}

fn drains(messages: &[QueueMessage]) -> usize {
    let is_drain = |message: &&QueueMessage| matches!(message, QueueMessage::Drain(_));
    messages.iter().filter(is_drain).count()
}

async fn delivered(stage: &Stage, ids: &[DeliveryId]) -> usize {
    let mut count = 0;
    for id in ids {
        count += usize::from(stage.row(*id).await.status == Status::Delivered);
    }
    count
}

#[tokio::test]
async fn first_attempts_are_not_rate_limited() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    for _ in 0..10 {
        stage.publish(webhook).await;
    }
    let handled = stage.handle(stage.line.take_attempts()).await;
    assert!(handled.iter().all(|one| *one == Ok(Handled::Attempted)));
    assert_eq!(stage.receiver.requests().len(), 10);
    assert_eq!(stage.line.take(), []);
}

#[tokio::test]
async fn retries_without_credit_are_drained_at_the_webhooks_rate() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    let messages = failed_rows(&stage, webhook, 8).await;
    let ids: Vec<_> = messages.iter().map(|message| message.id).collect();
    let handled = stage.handle(messages).await;
    let count = |what| handled.iter().filter(|one| **one == Ok(what)).count();
    assert_eq!(count(Handled::Attempted), 1, "{handled:?}");
    assert_eq!(count(Handled::Postponed), 7);
    let asked = stage.line.take();
    assert_eq!(drains(&asked), 1, "{asked:?}");
    let before = stage.clock.now();
    stage.work(asked, SECONDS(20)).await;
    assert_eq!(delivered(&stage, &ids).await, 8);
    // Seven at 5/s; the first one waits for credit.
    assert!(stage.clock.now().since(before) >= SECONDS(1));
}

#[tokio::test]
async fn ten_failures_in_a_row_limit_a_webhook_and_its_backlog_drains_when_it_recovers() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    stage.receiver.answer(Answer::status(500));
    let mut ids = Vec::new();
    for _ in 0..30 {
        ids.push(stage.publish(webhook).await);
    }
    let mut messages = stage.line.take_attempts();
    let worker = stage.dispatcher();
    // Not all at once: a short outage is not enough.
    for _ in 0..2 {
        let five = messages.drain(..5).map(Into::into).collect();
        worker.handle(five, stage.in_a_minute()).await;
        stage.clock.advance(Millis::new(300));
    }
    assert!(stage.flow(webhook).await.limiter.limited);
    let sent = stage.line.take();
    assert_eq!(drains(&sent), 1, "{sent:?}");
    let others = messages.into_iter().map(Into::into).collect();
    let handled = worker.handle(others, stage.in_a_minute()).await;
    assert!(handled.iter().all(|one| *one == Ok(Handled::Postponed)));
    assert_eq!(stage.receiver.requests().len(), 10);
    assert_eq!(drains(&stage.line.take()), 0, "one is on its way");
    stage.receiver.answer(Answer::status(200));
    stage.work(sent, SECONDS(120)).await;
    assert_eq!(delivered(&stage, &ids).await, 30);
}

/// The rest waits if the first three fail.
#[tokio::test]
async fn a_resumed_webhook_is_tried_and_the_others_keep_waiting_if_that_fails() {
    let stage = Stage::set().await;
    let webhook = stage.webhook_with(WebhookDraft {
        retry_rate: Some(8),
        retry: Some(RetrySettings {
            profile: Profile::PublicApi,
            jitter_bps: Some(0),
            max_attempts: Some(1),
            ..RetrySettings::default()
        }),
        ..WebhookDraft::default()
    });
    let webhook = webhook.await;
    stage.receiver.answer(Answer::status(500));
    stage.publish(webhook).await;
    stage.handle(stage.line.take()).await;
    let manage = &stage.gateway.manage;
    let status = async || {
        let found = manage.get(&tenant(), webhook).await;
        found.unwrap().health.status
    };
    assert_eq!(status().await, WebhookStatus::Failed);
    let mut ids = Vec::new();
    for _ in 0..20 {
        ids.push(stage.publish(webhook).await);
    }
    stage.line.take();
    let before = stage.receiver.requests().len();
    manage.resume(&tenant(), webhook).await.unwrap();
    let limiter = stage.flow(webhook).await.limiter;
    assert!(limiter.limited && limiter.rate_milli == 1000);
    stage.work(stage.line.take(), SECONDS(30)).await;
    assert_eq!(status().await, WebhookStatus::Failed);
    let attempted = stage.receiver.requests().len() - before;
    assert!((1..=3).contains(&attempted), "{attempted}");
    stage.receiver.answer(Answer::status(200));
    manage.resume(&tenant(), webhook).await.unwrap();
    stage.work(stage.line.take(), SECONDS(120)).await;
    assert_eq!(delivered(&stage, &ids).await, ids.len() - attempted);
}

/// First attempts, too, and the limit does not end while its settings are there.
#[tokio::test]
async fn a_capped_webhook_is_only_called_by_its_drainer() {
    let stage = Stage::set().await;
    let webhook = stage.webhook_with(WebhookDraft {
        max_rate: Some(10),
        ..WebhookDraft::default()
    });
    let webhook = webhook.await;
    for round in 0..2 {
        let mut ids = Vec::new();
        for _ in 0..10 {
            ids.push(stage.publish(webhook).await);
        }
        let handled = stage.handle(stage.line.take_attempts()).await;
        assert!(handled.iter().all(|one| *one == Ok(Handled::Postponed)));
        assert_eq!(stage.receiver.requests().len(), round * 10);
        let before = stage.clock.now();
        stage.work(stage.line.take(), SECONDS(30)).await;
        assert_eq!(delivered(&stage, &ids).await, 10);
        assert!(stage.clock.now().since(before) >= Millis::new(900));
        let flow = stage.flow(webhook).await;
        assert!(flow.is_limited() && !flow.limiter.limited);
    }
}

#[tokio::test]
async fn a_drain_of_a_stopped_deleted_or_leased_backlog_ends_at_once() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    let drain = || {
        vec![DrainMessage {
            tenant: tenant(),
            webhook,
            not_before: stage.clock.now(),
        }]
    };
    let lease = DrainLease {
        owner: "another".to_owned(),
        taken_at: stage.clock.now(),
    };
    let store = &stage.ports.store;
    let taken = store.take_drain_lease(&tenant(), webhook, lease).await;
    assert!(taken.unwrap().is_some());
    let held = Ok(Handled::Drained(Drained::Held));
    assert_eq!(stage.handle(drain()).await, [held]);
    let manage = &stage.gateway.manage;
    manage.pause(&tenant(), webhook).await.unwrap();
    let stopped = Ok(Handled::Drained(Drained::Stopped));
    assert_eq!(stage.handle(drain()).await, std::slice::from_ref(&stopped));
    manage.delete(&tenant(), webhook).await.unwrap();
    assert_eq!(stage.handle(drain()).await, [stopped]);
    assert_eq!(stage.line.take(), []);
}

/// They were accepted while the receiver could not keep up, and their messages come after the limit ended.
#[tokio::test]
async fn a_first_attempt_that_was_due_before_the_limit_ended_needs_credit() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    for _ in 0..8 {
        stage.publish(webhook).await;
    }
    let before = stage.line.take_attempts();
    stage.clock.advance(SECONDS(1));
    open_limit(&stage, webhook).await;
    stage.clock.advance(SECONDS(1));
    for _ in 0..8 {
        stage.publish(webhook).await;
    }
    let count = |handled: &[_], what| handled.iter().filter(|one| **one == Ok(what)).count();
    let handled = stage.handle(stage.line.take_attempts()).await;
    assert_eq!(count(&handled, Handled::Attempted), 8, "{handled:?}");
    let handled = stage.handle(before).await;
    assert_eq!(count(&handled, Handled::Attempted), 1, "{handled:?}");
    assert_eq!(count(&handled, Handled::Postponed), 7, "{handled:?}");
}

/// Ends a limit now.
async fn open_limit(stage: &Stage, webhook: WebhookId) {
    let (store, now, tenant) = (&stage.ports.store, stage.clock.now(), tenant());
    let lease = DrainLease {
        owner: "another".to_owned(),
        taken_at: now,
    };
    let taken = store.take_drain_lease(&tenant, webhook, lease.clone());
    let flow = taken.await.unwrap().unwrap();
    let end = DrainEnd {
        at: now,
        limiter: Limiter {
            opened_at: now,
            ..flow.limiter
        },
        seen_epoch: flow.limiter.epoch,
        asked_for: None,
        looked: None,
    };
    let ended = store.end_drain(&tenant, webhook, &lease, end);
    ended.await.unwrap();
}

fn drain(stage: &Stage, webhook: WebhookId) -> DrainMessage {
    DrainMessage {
        tenant: tenant(),
        webhook,
        not_before: stage.clock.now(),
    }
}

/// Retries would use up the maximum for as long as there are any.
#[tokio::test]
async fn under_a_maximum_the_oldest_go_first_whatever_their_kind() {
    let stage = Stage::set().await;
    let maxima = [(Some(5), None), (None, Some(1))];
    for (max_rate, max_in_flight) in maxima {
        let webhook = stage.webhook_with(WebhookDraft {
            max_rate,
            max_in_flight,
            ..WebhookDraft::default()
        });
        let webhook = webhook.await;
        let mut retries = Vec::new();
        stage.receiver.answer(Answer::status(500));
        for _ in 0..5 {
            retries.push(stage.publish(webhook).await);
        }
        // A busy machine may need more than one drain.
        for id in &retries {
            while stage.row(*id).await.attempts_total == 0 {
                let message = drain(&stage, webhook).into();
                stage.work(vec![message], SECONDS(10)).await;
            }
        }
        stage.receiver.answer(Answer::status(200));
        let mut firsts = Vec::new();
        for _ in 0..8 {
            firsts.push(stage.publish(webhook).await);
        }
        stage.clock.advance(SECONDS(600));
        let begun_at = stage.clock.now();
        stage.line.take();
        stage
            .work(vec![drain(&stage, webhook).into()], SECONDS(30))
            .await;
        let attempted = async |ids: Vec<DeliveryId>| {
            let mut times = Vec::new();
            for id in ids {
                times.push(stage.row(id).await.last_attempted_at.unwrap());
            }
            times.sort();
            times
        };
        let (firsts, retries) = (attempted(firsts).await, attempted(retries).await);
        assert!(firsts[0] >= begun_at);
        // A retry may use credit that came while a first attempt was being claimed, but it goes after that.
        let in_order = firsts
            .iter()
            .zip(&retries)
            .all(|(first, retry)| first <= retry);
        assert!(in_order, "{firsts:?} {retries:?}");
    }
}

/// More rows than are read at a time.
#[tokio::test]
async fn rows_that_cannot_be_claimed_do_not_hide_those_behind_them() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    for _ in 0..60 {
        stage.hold(stage.publish(webhook).await).await;
    }
    stage.clock.advance(SECONDS(1));
    let free = stage.publish(webhook).await;
    stage.clock.advance(SECONDS(1));
    stage.line.take();
    stage
        .work(vec![drain(&stage, webhook).into()], SECONDS(3))
        .await;
    assert_eq!(stage.row(free).await.status, Status::Delivered);
}

#[tokio::test]
async fn a_row_that_another_worker_holds_is_looked_at_again_in_five_seconds_not_at_once() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    stage.hold(stage.publish(webhook).await).await;
    stage.line.take();
    stage.handle(vec![drain(&stage, webhook)]).await;
    let later = DrainMessage {
        not_before: stage.clock.now().plus(SECONDS(5)),
        ..drain(&stage, webhook)
    };
    assert_eq!(stage.line.take(), [later.into()]);
}

/// Its first request takes for ever.
struct Slow {
    is_used: AtomicBool,
    sender: Arc<dyn Sender>,
}

#[async_trait]
impl Sender for Slow {
    async fn post(&self, request: Post) -> Posted {
        if !self.is_used.swap(true, Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        self.sender.post(request).await
    }
}

/// The next drain would not know of the attempts that are under way.
#[tokio::test]
async fn a_drain_keeps_its_lease_until_its_attempts_end_if_a_maximum_was_just_set() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    for _ in 0..12 {
        stage.publish(webhook).await;
    }
    let worker = stage.dispatcher_with(Arc::new(Slow {
        is_used: AtomicBool::new(false),
        sender: stage.sender(),
    }));
    let (message, deadline) = (drain(&stage, webhook), stage.in_a_minute());
    let draining = tokio::spawn(async move { worker.handle(vec![message.into()], deadline).await });
    stage.receiver.received(11).await;
    for tenth in 0..150 {
        if tenth == 90 {
            let (manage, tenant) = (&stage.gateway.manage, tenant());
            let changed = manage.change(&tenant, webhook, |draft| WebhookDraft {
                max_in_flight: Some(1),
                ..draft
            });
            changed.await.unwrap();
        }
        real_time_passes().await;
        stage.clock.advance(Millis::new(100));
    }
    assert!(stage.flow(webhook).await.drain.lease.is_some());
    draining.abort();
}
