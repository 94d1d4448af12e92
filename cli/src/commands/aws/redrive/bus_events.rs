//! Events of an EventBridge bus that the bridge did not publish. Their queue is not the dead-letter queue of another queue, so
//! SQS cannot move them back: the function is invoked with each.

use std::collections::HashSet;

use serde_json::Value;

use super::super::json::{at, list};
use super::super::stack::{Resource, Stack};
use super::super::tool::{AwsCall, AwsError, AwsTool, Invoked};
use super::Unprocessed;
use crate::output::Output;

/// The names in the template.
pub(super) const QUEUE: &str = "BridgeDeadLetters";
const FUNCTION: &str = "BridgeFunction";

/// Longer than ten events take. A message that was not deleted comes back after it.
const HIDDEN_FOR_SECONDS: &str = "600";

#[derive(Debug, Default)]
pub(super) struct Republished {
    pub(super) published: usize,
    pub(super) failed: Vec<Unprocessed>,
    /// Bodies that the function rejected: it has put each into the queue again.
    rejected: HashSet<String>,
    /// Receipts of messages that stay in the queue.
    left: Vec<String>,
}

struct BusEvents<'a> {
    queue: &'a Resource,
    function: &'a Resource,
    tool: &'a AwsTool,
}

/// Publishes every event in the queue. An event that was published before is not published a second time.
pub(super) async fn publish(
    stack: &Stack,
    tool: &AwsTool,
    out: Output,
) -> Result<Republished, AwsError> {
    let mut republished = Republished::default();
    let queue = stack.queues().find(|queue| queue.logical == QUEUE);
    let function = stack.functions().find(|it| it.logical == FUNCTION);
    let (Some(queue), Some(function)) = (queue, function) else {
        return Ok(republished);
    };
    let events = BusEvents {
        queue,
        function,
        tool,
    };
    loop {
        let messages = events.receive().await?;
        if messages.is_empty() {
            events.show_again(&republished.left).await?;
            return Ok(republished);
        }
        for message in messages {
            events.publish(message, &mut republished, out).await?;
        }
    }
}

impl BusEvents<'_> {
    async fn receive(&self) -> Result<Vec<Message>, AwsError> {
        let receive = AwsCall::new("sqs", "receive-message")
            .option("--queue-url", &self.queue.physical)
            .option("--max-number-of-messages", "10")
            .option("--visibility-timeout", HIDDEN_FOR_SECONDS)
            // Otherwise SQS asks only some of its servers, and a small queue looks empty.
            .option("--wait-time-seconds", "2");
        let received = self.tool.run(&receive).await?;
        Ok(list(&received, "/Messages")
            .filter_map(Message::of)
            .collect())
    }

    async fn publish(
        &self,
        message: Message,
        republished: &mut Republished,
        out: Output,
    ) -> Result<(), AwsError> {
        if republished.rejected.contains(&message.body) {
            republished.left.push(message.receipt);
            return Ok(());
        }
        let invoked = self.tool.invoke(&self.function.physical, &message.body);
        let failed = |reason: &str| Unprocessed::told(message.key(), reason, out);
        match Handled::of(invoked.await?) {
            Handled::Published => republished.published += 1,
            Handled::Rejected(reason) => {
                republished.failed.push(failed(&reason));
                republished.rejected.insert(message.body.clone());
            }
            Handled::Failed(reason) => {
                republished.failed.push(failed(&reason));
                republished.left.push(message.receipt);
                return Ok(());
            }
        }
        let delete = AwsCall::new("sqs", "delete-message")
            .option("--queue-url", &self.queue.physical)
            .option("--receipt-handle", &message.receipt);
        self.tool.run(&delete).await.map(drop)
    }

    /// Otherwise the queue looked empty until their time is over.
    async fn show_again(&self, receipts: &[String]) -> Result<(), AwsError> {
        for receipt in receipts {
            let show = AwsCall::new("sqs", "change-message-visibility")
                .option("--queue-url", &self.queue.physical)
                .option("--receipt-handle", receipt)
                .option("--visibility-timeout", "0");
            self.tool.run(&show).await?;
        }
        Ok(())
    }
}

/// A message whose body is an event.
#[derive(Debug, PartialEq, Eq)]
struct Message {
    body: String,
    receipt: String,
}

impl Message {
    fn of(received: &Value) -> Option<Self> {
        Some(Self {
            body: at(received, "/Body").as_str()?.to_owned(),
            receipt: at(received, "/ReceiptHandle").as_str()?.to_owned(),
        })
    }

    /// The event's id, as far as it has one.
    fn key(&self) -> String {
        let event: Value = serde_json::from_str(&self.body).unwrap_or_default();
        let id = at(&event, "/id")
            .as_str()
            .unwrap_or("an event without an id");
        format!("{QUEUE}/{id}")
    }
}

/// What the function did with an event.
#[derive(Debug, PartialEq, Eq)]
enum Handled {
    Published,
    /// It can never be published as it is.
    Rejected(String),
    /// The function failed; another try may succeed.
    Failed(String),
}

impl Handled {
    fn of(invoked: Invoked) -> Self {
        let answer = match invoked {
            Invoked::Failed(reason) => return Self::Failed(reason),
            Invoked::Returned(answer) => answer,
        };
        match (at(&answer, "/event_id"), at(&answer, "/rejected")) {
            (Value::String(_), _) => Self::Published,
            (_, Value::String(reason)) => Self::Rejected(reason.clone()),
            (_, _) => Self::Failed(format!("unexpected result: {answer}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_event_is_deleted_only_if_it_is_published_or_back_in_the_queue() {
        let returned = |answer| Handled::of(Invoked::Returned(answer));
        let published = json!({"event_id": "evt_1", "deliveries": 1, "repeated": true});
        assert_eq!(returned(published), Handled::Published);
        let rejected = json!({"rejected": "key reused"});
        assert_eq!(
            returned(rejected),
            Handled::Rejected("key reused".to_owned())
        );
        assert!(matches!(returned(json!(null)), Handled::Failed(_)));
        let failed = Handled::of(Invoked::Failed("timed out".to_owned()));
        assert_eq!(failed, Handled::Failed("timed out".to_owned()));
    }

    #[test]
    fn the_body_of_a_message_is_kept_byte_for_byte() {
        let body = r#"{"id": "1",  "detail": {"b": 1.10, "a": 2}}"#;
        let message = Message::of(&json!({"Body": body, "ReceiptHandle": "r"})).unwrap();
        assert_eq!(
            (message.body.as_str(), message.receipt.as_str()),
            (body, "r")
        );
        assert_eq!(message.key(), "BridgeDeadLetters/1");
        assert_eq!(Message::of(&json!({"ReceiptHandle": "r"})), None);
    }
}
