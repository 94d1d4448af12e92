//! How dispatcher and poller functions handle a failing receiver.

use postrider_domain::delivery::Status;
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::WebhookId;
use postrider_domain::retry::{Profile, RetrySettings};
use postrider_domain::template::TemplateDraft;
use postrider_domain::time::Millis;
use postrider_domain::webhook::WebhookDraft;
use postrider_gateway::worker::queue::{Handled, Needless};
use postrider_ports::clock::Clock;
use postrider_ports::queue::{DrainMessage, ProbeMessage, QueueMessage};
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

/// A webhook with `auto_resume` that has failed.
pub(crate) async fn failed(stage: &Stage) -> WebhookId {
    let webhook = stage.webhook_with(draft()).await;
    stage.receiver.answer(Answer::status(500));
    stage.publish(webhook).await;
    stage.handle(stage.line.take()).await;
    assert_eq!(status(stage, webhook).await, WebhookStatus::Failed);
    webhook
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
    let drain = DrainMessage {
        tenant: tenant(),
        webhook,
        not_before: stage.clock.now(),
    };
    stage.work(vec![drain.into()], SECONDS(10)).await;
    assert_eq!(stage.row(waiting).await.status, Status::Delivered);
}

/// The fields that a template needs say nothing about the receiver.
#[tokio::test]
async fn a_webhook_whose_template_does_not_fit_the_test_event_is_resumed() {
    let stage = Stage::set().await;
    let template = TemplateDraft {
        body: r#"{"order": {{ payload.order.id }}}"#.to_owned(),
        ..TemplateDraft::default()
    };
    let webhook = stage
        .webhook_with(WebhookDraft {
            template: Some(template),
            ..draft()
        })
        .await;
    stage.receiver.answer(Answer::status(500));
    let event = stage.publish_payload(webhook, r#"{"order": {"id": 7}}"#);
    event.await;
    stage.handle(stage.line.take()).await;
    assert_eq!(status(&stage, webhook).await, WebhookStatus::Failed);
    stage.receiver.answer(Answer::status(200));
    stage.clock.advance(SECONDS(60));
    stage.chores().await;
    assert_eq!(stage.handle(stage.line.take()).await, [Ok(Handled::Probed)]);
    assert_eq!(status(&stage, webhook).await, WebhookStatus::Active);
}
