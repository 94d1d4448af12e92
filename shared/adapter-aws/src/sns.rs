//! Publishes notifications to an SNS topic.

use async_trait::async_trait;
use aws_sdk_sns::error::BuildError;
use aws_sdk_sns::types::{MessageAttributeValue, PublishBatchRequestEntry};
use postrider_domain::notification::Notification;
use postrider_ports::notifications::Topic;
use postrider_ports::{Error, Result};
use serde_json::Value;

use crate::fault;

/// The maximum number of messages per call. <https://docs.aws.amazon.com/sns/latest/api/API_PublishBatch.html>
const BATCH: usize = 10;

/// A topic that receives every notification as CloudEvents JSON. Type, tenant, webhook, session and source are also
/// message attributes, so that subscribers can filter by them.
pub struct SnsTopic {
    client: aws_sdk_sns::Client,
    arn: String,
}

impl SnsTopic {
    /// The topic with this ARN. Makes no call yet.
    #[must_use]
    pub const fn new(client: aws_sdk_sns::Client, arn: String) -> Self {
        Self { client, arn }
    }

    async fn publish_batch(&self, notifications: &[Notification]) -> Result<Vec<Result<()>>> {
        let entries = notifications
            .iter()
            .enumerate()
            .map(|(index, notification)| entry(index, notification))
            .collect::<std::result::Result<Vec<_>, _>>()
            .map_err(|error| Error::Broken(error.to_string()))?;
        let call = self.client.publish_batch().topic_arn(&self.arn);
        let call = call.set_publish_batch_request_entries(Some(entries));
        let answer = call.send().await.map_err(|error| fault::of(&error))?;
        // A message that the response does not mention was not accepted.
        let missing = Err(Error::Unavailable(
            "aws: no result for a message".to_owned(),
        ));
        let mut results = vec![missing; notifications.len()];
        let mut set = |id: Option<&str>, result| {
            let index = id.and_then(|id| id.parse::<usize>().ok());
            if let Some(found) = index.and_then(|index| results.get_mut(index)) {
                *found = result;
            }
        };
        for taken in answer.successful() {
            set(taken.id(), Ok(()));
        }
        for failed in answer.failed() {
            let text = format!("aws: {}", failed.code());
            let error = if failed.sender_fault() {
                Error::Broken(text)
            } else {
                Error::Unavailable(text)
            };
            set(Some(failed.id()), Err(error));
        }
        Ok(results)
    }
}

#[async_trait]
impl Topic for SnsTopic {
    async fn publish(&self, notifications: &[Notification]) -> Vec<Result<()>> {
        let mut results = Vec::with_capacity(notifications.len());
        for batch in notifications.chunks(BATCH) {
            match self.publish_batch(batch).await {
                Ok(each) => results.extend(each),
                Err(error) => results.extend(vec![Err(error); batch.len()]),
            }
        }
        results
    }
}

fn entry(
    index: usize,
    notification: &Notification,
) -> std::result::Result<PublishBatchRequestEntry, BuildError> {
    let mut entry = PublishBatchRequestEntry::builder()
        .id(index.to_string())
        .message(notification.to_cloud_event().to_string());
    for (name, value) in attributes(notification) {
        let value = MessageAttributeValue::builder()
            .data_type("String")
            .string_value(value);
        entry = entry.message_attributes(name, value.build()?);
    }
    entry.build()
}

/// The attributes that subscribers can filter by.
fn attributes(notification: &Notification) -> Vec<(&'static str, &str)> {
    let value_of = |name: &'static str| {
        let text = notification.data.get(name).and_then(Value::as_str);
        text.map(|text| (name, text))
    };
    let always = [
        ("type", notification.kind.as_str()),
        ("tenant", notification.tenant.as_str()),
    ];
    let optional = ["webhook_id", "session_id", "source_id"];
    let optional = optional.into_iter().filter_map(value_of);
    always.into_iter().chain(optional).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use postrider_domain::notification::NotificationKind;
    use postrider_domain::time::Timestamp;
    use serde_json::json;

    fn notification(data: Value) -> Notification {
        Notification {
            id: "id".to_owned(),
            kind: NotificationKind::DeliveryDead,
            tenant: "acme".parse().unwrap(),
            at: Timestamp::ZERO,
            data,
        }
    }

    #[test]
    fn a_message_can_be_filtered_by_its_subject() {
        let about =
            notification(json!({"webhook_id": "wh_1", "session_id": "s", "status": "dead"}));
        let expected = [
            ("type", "delivery.dead"),
            ("tenant", "acme"),
            ("webhook_id", "wh_1"),
            ("session_id", "s"),
        ];
        assert_eq!(attributes(&about), expected);
    }

    #[test]
    fn a_missing_value_is_not_an_attribute() {
        let about = notification(json!({"source_id": "src_1"}));
        assert_eq!(attributes(&about).last(), Some(&("source_id", "src_1")));
        let about = notification(json!({"webhook_id": "wh_1", "session_id": null}));
        let names: Vec<_> = attributes(&about).iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["type", "tenant", "webhook_id"]);
    }
}
