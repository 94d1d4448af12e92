//! Shadow requests change nothing, obey the sender's rules and end in time.

use postrider_domain::egress::Rules;
use postrider_domain::outcome::Phase;
use postrider_domain::shadow::{Likeness, ShadowDraft};
use postrider_domain::time::Millis;
use postrider_domain::webhook::WebhookDraft;
use postrider_gateway::GatewayError;
use postrider_ports::queue::QueueMessage;
use postrider_testkit::receiver::{Answer, Receiver};

use crate::stage::{Stage, tenant};

fn to(url: String) -> ShadowDraft {
    ShadowDraft {
        url,
        ..ShadowDraft::default()
    }
}

#[tokio::test]
async fn a_failed_row_its_attempts_and_its_rate_do_not_change() {
    let stage = Stage::set().await;
    stage.receiver.answer(Answer::status(503).body("later"));
    let webhook = stage.webhook().await;
    let id = stage.publish(webhook).await;
    let message = QueueMessage::of(&stage.row(id).await);
    stage.handle(vec![message]).await;
    stage.clock.advance(Millis::from_seconds(1));
    let (row, rate) = (stage.row(id).await, stage.flow(webhook).await);
    let store = &stage.ports.store;
    let attempts = store.attempts(&tenant(), id).await.unwrap();
    let hooks = store.webhooks(&tenant()).await.unwrap();
    let notifications = store.notifications_after(&tenant(), 0, 100).await.unwrap();
    stage.line.take();

    let elsewhere = Receiver::start().await;
    elsewhere.answer(Answer::status(503).body("later"));
    let shadows = stage.shadows(stage.egress.clone(), stage.egress.clone());
    let shadowed = shadows
        .send(&tenant(), id, to(elsewhere.url()))
        .await
        .unwrap();
    let likeness: Vec<_> = shadowed.compared.iter().map(|one| one.likeness).collect();
    assert_eq!(
        likeness,
        [Likeness::Same, Likeness::Unknown, Likeness::Same]
    );
    assert_eq!(elsewhere.requests().len(), 1);
    assert_eq!(stage.receiver.requests().len(), 1);
    assert_eq!(
        (stage.row(id).await, stage.flow(webhook).await),
        (row, rate)
    );
    assert_eq!(store.attempts(&tenant(), id).await.unwrap(), attempts);
    assert_eq!(store.webhooks(&tenant()).await.unwrap(), hooks);
    let after = store.notifications_after(&tenant(), 0, 100).await.unwrap();
    assert_eq!(after.len(), notifications.len());
    assert!(stage.line.take().is_empty(), "no queue message");
}

/// As when a name resolves to a blocked address, which only the sender notices.
#[tokio::test]
async fn a_url_that_the_sender_blocks_is_an_invalid_field() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    let id = stage.publish(webhook).await;
    let shadows = stage.shadows(stage.egress.clone(), Rules::default());
    let url = format!("{}?elsewhere", stage.receiver.url());
    let rejected = shadows.send(&tenant(), id, to(url)).await;
    let Err(GatewayError::Invalid(faults)) = rejected else {
        panic!("{rejected:?}")
    };
    let faults = faults.into_fields();
    assert_eq!((faults.len(), faults[0].field.as_str()), (1, "url"));
    assert!(!faults[0].message.contains("own URL"), "{faults:?}");
    assert!(!faults[0].message.contains("http://"), "{faults:?}");
    assert_eq!(stage.receiver.requests().len(), 0);
}

#[tokio::test]
async fn a_request_to_a_hanging_receiver_ends_in_time() {
    let stage = Stage::set().await;
    let draft = WebhookDraft {
        timeout_seconds: Some(30),
        ..WebhookDraft::default()
    };
    let webhook = stage.webhook_with(draft).await;
    let id = stage.publish(webhook).await;
    stage.receiver.hold();
    let shadows = stage.shadows(stage.egress.clone(), stage.egress.clone());
    let draft = ShadowDraft {
        url: format!("{}?elsewhere", stage.receiver.url()),
        timeout_seconds: Some(1),
        ..ShadowDraft::default()
    };
    let shadowed = shadows.send(&tenant(), id, draft).await.unwrap();
    let error = shadowed.reply.error.unwrap();
    assert!(error.starts_with("timeout: "), "{error}");
    assert_eq!(shadowed.reply.phase, Some(Phase::FirstByte));
}
