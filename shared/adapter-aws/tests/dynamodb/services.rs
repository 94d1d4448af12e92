//! SNS, EventBridge, SQS, SES and Secrets Manager, emulated by MiniStack.

use std::sync::Arc;

use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_sqs::types::{Message, QueueAttributeName};
use postrider_adapter_aws::dead_letters::SqsDeadLetters;
use postrider_adapter_aws::eventbridge::EventBus;
use postrider_adapter_aws::first_key::SecretsManagerKey;
use postrider_adapter_aws::ses::SesMail;
use postrider_adapter_aws::sns::SnsTopic;
use postrider_domain::notification::{Notification, NotificationKind};
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::dead_letters::DeadLetters;
use postrider_ports::first_key::FirstKey;
use postrider_ports::mail::{Email, Mail};
use postrider_ports::notifications::Topic;
use postrider_testkit::clock::SteppedClock;
use serde_json::{Value, json};

use crate::support::{Servers, servers};

macro_rules! client {
    ($service:ident, $servers:expr) => {{
        let config = $service::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .endpoint_url(format!("http://{}", $servers.ministack))
            .region(Region::from_static("us-east-1"))
            .credentials_provider(Credentials::new("test", "test", None, None, "test"));
        $service::Client::from_conf(config.build())
    }};
}

async fn ready() -> Servers {
    tokio::task::spawn_blocking(servers).await.unwrap()
}

/// A name that no other test and no earlier run uses.
fn fresh(what: &str) -> String {
    let mut drawn = [0; 8];
    #[expect(clippy::disallowed_methods, reason = "a name on a shared server")]
    aws_lc_rs::rand::fill(&mut drawn).unwrap();
    format!("{what}-{:016x}", u64::from_be_bytes(drawn))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notifications_reach_a_subscriber_with_attributes_to_filter_by() {
    let servers = ready().await;
    let (sns, sqs) = (client!(aws_sdk_sns, servers), client!(aws_sdk_sqs, servers));
    let topic = sns
        .create_topic()
        .name(fresh("topic"))
        .send()
        .await
        .unwrap();
    let arn = topic.topic_arn.unwrap();
    let (queue, endpoint) = queue(&sqs).await;
    let subscribe = sns.subscribe().topic_arn(&arn).protocol("sqs");
    let subscribe = subscribe.endpoint(endpoint);
    let raw = subscribe.attributes("RawMessageDelivery", "true");
    raw.send().await.unwrap();

    let notifications: Vec<Notification> = (0..12).map(notification).collect();
    let results = SnsTopic::new(sns, arn).publish(&notifications).await;
    assert_eq!(results, vec![Ok(()); 12]);

    let mut ids = Vec::new();
    for message in received(&sqs, &queue, 12).await {
        let event: Value = serde_json::from_str(message.body().unwrap()).unwrap();
        ids.push(event["id"].as_str().unwrap().to_owned());
        let attributes = message.message_attributes.unwrap();
        let kind = attributes["type"].string_value().unwrap();
        assert_eq!(kind, "webhook.failed");
    }
    ids.sort();
    let mut expected: Vec<_> = notifications
        .into_iter()
        .map(|notification| notification.id)
        .collect();
    expected.sort();
    assert_eq!(ids, expected);
}

/// A new queue; returns its URL and ARN.
async fn queue(sqs: &aws_sdk_sqs::Client) -> (String, String) {
    let queue = sqs.create_queue().queue_name(fresh("queue")).send().await;
    let queue = queue.unwrap().queue_url.unwrap();
    let name = QueueAttributeName::QueueArn;
    let attributes = sqs.get_queue_attributes().queue_url(&queue);
    let attributes = attributes.attribute_names(name.clone()).send().await;
    let mut attributes = attributes.unwrap().attributes.unwrap();
    (queue, attributes.remove(&name).unwrap())
}

/// Removes and returns this many messages.
async fn received(sqs: &aws_sdk_sqs::Client, queue: &str, count: usize) -> Vec<Message> {
    let mut received = Vec::new();
    while received.len() < count {
        let receive = sqs.receive_message().queue_url(queue);
        let receive = receive.max_number_of_messages(10).wait_time_seconds(5);
        let receive = receive.message_attribute_names("All");
        let messages = receive.send().await.unwrap().messages.unwrap_or_default();
        assert!(!messages.is_empty(), "only {received:?} arrived");
        for message in messages {
            let done = sqs.delete_message().queue_url(queue);
            let done = done.receipt_handle(message.receipt_handle().unwrap());
            done.send().await.unwrap();
            received.push(message);
        }
    }
    received
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notifications_reach_the_target_of_a_rule_as_cloud_events() {
    let servers = ready().await;
    let events = client!(aws_sdk_eventbridge, servers);
    let sqs = client!(aws_sdk_sqs, servers);
    let (queue, arn) = queue(&sqs).await;
    let (bus, rule) = (fresh("bus"), fresh("rule"));
    events.create_event_bus().name(&bus).send().await.unwrap();
    let pattern = json!({"source": ["postrider"], "detail-type": ["webhook.failed"],
        "detail": {"data": {"webhook_id": ["wh_1"]}}});
    let put = events.put_rule().name(&rule).event_bus_name(&bus);
    let put = put.event_pattern(pattern.to_string());
    put.send().await.unwrap();
    let target = aws_sdk_eventbridge::types::Target::builder();
    let target = target.id("queue").arn(arn).build().unwrap();
    let put = events.put_targets().rule(&rule).event_bus_name(&bus);
    put.targets(target).send().await.unwrap();

    let notifications: Vec<Notification> = (0..12).map(notification).collect();
    let results = EventBus::new(events, bus).publish(&notifications).await;
    assert_eq!(results, vec![Ok(()); 12]);

    let mut details = Vec::new();
    for message in received(&sqs, &queue, 12).await {
        let event: Value = serde_json::from_str(message.body().unwrap()).unwrap();
        details.push(event["detail"].clone());
    }
    details.sort_by_key(|detail| detail["id"].to_string());
    let expected: Vec<_> = notifications
        .iter()
        .map(Notification::to_cloud_event)
        .collect();
    assert_eq!(details, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_letter_is_the_event_with_the_reason() {
    let servers = ready().await;
    let sqs = client!(aws_sdk_sqs, servers);
    let (queue, _) = queue(&sqs).await;
    let event = "{ \"id\" : \"1\", \"detail\":\t\"\\u00e9 é\" }";
    let dead_letters = SqsDeadLetters::new(sqs.clone(), queue.clone());
    dead_letters.add(event, "too large").await.unwrap();
    let message = received(&sqs, &queue, 1).await.remove(0);
    assert_eq!(message.body(), Some(event));
    let reason = &message.message_attributes.unwrap()["ErrorMessage"];
    assert_eq!(reason.string_value(), Some("too large"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn publishing_to_a_deleted_topic_fails() {
    let servers = ready().await;
    let arn = "arn:aws:sns:us-east-1:000000000000:nowhere".to_owned();
    let topic = SnsTopic::new(client!(aws_sdk_sns, servers), arn);
    let results = topic.publish(&[notification(1), notification(2)]).await;
    assert_eq!(results.len(), 2);
    assert!(results.iter().all(Result::is_err), "{results:?}");
}

fn notification(n: usize) -> Notification {
    Notification {
        id: format!("notice-{n:02}"),
        kind: NotificationKind::WebhookFailed,
        tenant: "default".parse().unwrap(),
        at: Timestamp::ZERO,
        data: json!({"webhook_id": "wh_1", "session_id": null}),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_email_is_sent_as_written() {
    let servers = ready().await;
    let ses = client!(aws_sdk_sesv2, servers);
    let from = format!("{}@example.com", fresh("from"));
    let email = Email {
        id: "wh_1.failed.0".to_owned(),
        to: "owner@example.com".to_owned(),
        subject: "Webhook 'Ünïcode' has failed".to_owned(),
        text: "plain ‹text›".to_owned(),
        html: "<p>html</p>".to_owned(),
    };
    let mail = SesMail::new(ses.clone(), from.clone());
    let rejected = mail.send(email.clone()).await;
    assert!(rejected.is_err(), "the address is not verified");
    let verify = ses.create_email_identity().email_identity(&from);
    verify.send().await.unwrap();
    mail.send(email.clone()).await.unwrap();
    let address = format!("http://{}/_ministack/ses/messages", servers.ministack);
    let sent = reqwest::get(address).await.unwrap().text().await.unwrap();
    let sent: Value = serde_json::from_str(&sent).unwrap();
    let sent = sent.to_string();
    for part in [&from, &email.to, &email.subject, &email.text, &email.html] {
        assert!(sent.contains(part.as_str()), "{part} in {sent}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_key_is_accepted_and_can_be_changed() {
    let servers = ready().await;
    let secrets = client!(aws_sdk_secretsmanager, servers);
    let (name, old) = (fresh("first-key"), fresh("a-key-of-some-length"));
    let create = secrets.create_secret().name(&name).secret_string(&old);
    create.send().await.unwrap();
    let clock = Arc::new(SteppedClock::at(Timestamp::from_millis(1)));
    let first = SecretsManagerKey::new(secrets.clone(), name.clone(), clock.clone());
    assert_eq!(first.is_first(&old).await, Ok(true));
    assert_eq!(first.is_first("").await, Ok(false));
    let new = fresh("another-key-of-some-length");
    let change = secrets.put_secret_value().secret_id(&name);
    change.secret_string(&new).send().await.unwrap();
    assert_eq!(first.is_first(&new).await, Ok(false), "not read again yet");
    clock.advance(Millis::from_seconds(60));
    assert_eq!(first.is_first(&new).await, Ok(true));
    assert_eq!(first.is_first(&old).await, Ok(false));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secret_too_short_for_a_key_grants_no_access() {
    let servers = ready().await;
    let secrets = client!(aws_sdk_secretsmanager, servers);
    let name = fresh("short");
    let create = secrets.create_secret().name(&name).secret_string("short");
    create.send().await.unwrap();
    let clock = Arc::new(SteppedClock::at(Timestamp::from_millis(1)));
    let first = SecretsManagerKey::new(secrets, name, clock);
    assert!(first.is_first("short").await.is_err());
}
