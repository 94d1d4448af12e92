//! A dead-letter queue in SQS.

use async_trait::async_trait;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::MessageAttributeValue;
use postrider_ports::dead_letters::DeadLetters;
use postrider_ports::{Error, Result};

use crate::fault;

/// Where Lambda also puts the reason when it moves an event to a dead-letter queue.
/// <https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-retain-records.html>
const REASON: &str = "ErrorMessage";

/// A queue of events in the form that EventBridge and Lambda also use: the body is the event.
pub struct SqsDeadLetters {
    client: Client,
    url: String,
}

impl SqsDeadLetters {
    /// The queue at this URL. Makes no call yet.
    #[must_use]
    pub const fn new(client: Client, url: String) -> Self {
        Self { client, url }
    }
}

#[async_trait]
impl DeadLetters for SqsDeadLetters {
    async fn add(&self, event: &str, reason: &str) -> Result<()> {
        let reason = MessageAttributeValue::builder()
            .data_type("String")
            .string_value(reason)
            .build()
            .map_err(|error| Error::Broken(error.to_string()))?;
        let message = self.client.send_message().queue_url(&self.url);
        let message = message.message_body(event);
        let sent = message.message_attributes(REASON, reason).send().await;
        sent.map_err(|error| fault::of(&error))?;
        Ok(())
    }
}
