//! SNS, SES and Secrets Manager, emulated by MiniStack.

use std::sync::Arc;

use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region};
use postrider_adapter_aws::first_key::SecretsManagerKey;
use postrider_adapter_aws::ses::SesMail;
use postrider_adapter_aws::sns::SnsTopic;
use postrider_domain::notification::{Notification, NotificationKind};
use postrider_domain::time::{Millis, Timestamp};
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
    let queue = sqs.create_queue().queue_name(fresh("queue")).send().await;
    let queue = queue.unwrap().queue_url.unwrap();
    let name = aws_sdk_sqs::types::QueueAttributeName::QueueArn;
    let attributes = sqs.get_queue_attributes().queue_url(&queue);
    let attributes = attributes
        .attribute_names(name.clone())
        .send()
        .await
        .unwrap();
    let endpoint = attributes.attributes.unwrap()[&name].clone();
    let subscribe = sns.subscribe().topic_arn(&arn).protocol("sqs");
    let subscribe = subscribe.endpoint(endpoint);
    let raw = subscribe.attributes("RawMessageDelivery", "true");
    raw.send().await.unwrap();

    let notifications: Vec<Notification> = (0..12).map(notification).collect();
    let results = SnsTopic::new(sns, arn).publish(&notifications).await;
    assert_eq!(results, vec![Ok(()); 12]);

    let mut ids = Vec::new();
    while ids.len() < 12 {
        let receive = sqs.receive_message().queue_url(&queue);
        let receive = receive.max_number_of_messages(10).wait_time_seconds(5);
        let receive = receive.message_attribute_names("All");
        let messages = receive.send().await.unwrap().messages.unwrap_or_default();
        assert!(!messages.is_empty(), "only {ids:?} arrived");
        for message in messages {
            let event: Value = serde_json::from_str(message.body().unwrap()).unwrap();
            ids.push(event["id"].as_str().unwrap().to_owned());
            let attributes = message.message_attributes.unwrap();
            let kind = attributes["type"].string_value().unwrap();
            assert_eq!(kind, "webhook.failed");
            let handle = message.receipt_handle.unwrap();
            let done = sqs.delete_message().queue_url(&queue);
            done.receipt_handle(handle).send().await.unwrap();
        }
    }
    ids.sort();
    let mut expected: Vec<_> = notifications
        .into_iter()
        .map(|notification| notification.id)
        .collect();
    expected.sort();
    assert_eq!(ids, expected);
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
