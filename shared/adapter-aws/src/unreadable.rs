//! Sends the keys of changes that cannot be decoded to a queue of their own, for an operator.

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use postrider_ports::{Error, Result};
use serde::Serialize;

use crate::fault;

/// The maximum number of messages per call.
const BATCH: usize = 10;

/// Where a change is found. Never its content: why it cannot be decoded is unknown, and so is what it contains.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnreadableChange {
    pub sequence_number: String,
    /// Empty if even the key could not be decoded.
    pub pk: String,
    pub sk: String,
}

pub struct UnreadableQueue {
    client: Client,
    url: String,
}

impl UnreadableQueue {
    /// The queue at this URL. Makes no call yet.
    #[must_use]
    pub const fn new(client: Client, url: String) -> Self {
        Self { client, url }
    }

    /// Sends them all.
    ///
    /// # Errors
    /// If one of them could not be sent. The others may then be sent twice.
    pub async fn send(&self, changes: &[UnreadableChange]) -> Result<()> {
        for batch in changes.chunks(BATCH) {
            let mut call = self.client.send_message_batch().queue_url(&self.url);
            for (index, change) in batch.iter().enumerate() {
                let body = serde_json::to_string(change);
                let body = body.map_err(|error| Error::Broken(error.to_string()))?;
                let entry = SendMessageBatchRequestEntry::builder()
                    .id(index.to_string())
                    .message_body(body)
                    .build();
                call = call.entries(entry.map_err(|error| Error::Broken(error.to_string()))?);
            }
            let answer = call.send().await.map_err(|error| fault::of(&error))?;
            if let Some(failed) = answer.failed().first() {
                return Err(Error::Unavailable(format!("aws: {}", failed.code())));
            }
        }
        Ok(())
    }
}
