//! Attempts the deliveries named by queue messages.

use std::sync::Arc;

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent};
use lambda_runtime::{Error, LambdaEvent};
use postrider_domain::retry::RuntimeRetry;
use postrider_gateway::attempt::Attempts;
use postrider_gateway::worker::queue::QueueWorker;
use postrider_ports::clock::Clock;
use postrider_ports::queue::QueueMessage;
use postrider_ports::sender::Sender;
use postrider_wiring::Parts;
use tracing::{debug, warn};

/// Handles batches of queue messages.
pub struct Batches {
    worker: QueueWorker,
    clock: Arc<dyn Clock>,
}

impl Batches {
    #[must_use]
    pub fn new(parts: Parts, sender: Arc<dyn Sender>, retry: RuntimeRetry) -> Self {
        let Parts {
            ports,
            webhook_cache,
            queue,
            process,
            ..
        } = parts;
        let attempts = Attempts::new(ports.clone(), sender, Arc::clone(&webhook_cache), retry);
        Self {
            clock: Arc::clone(&ports.clock),
            worker: QueueWorker::new(ports, attempts, webhook_cache, queue, process),
        }
    }

    /// Handles a batch and reports the messages that should be delivered again: those that could not be handled, and
    /// those that cannot be read, which the queue moves to its dead-letter queue after a few tries.
    ///
    /// # Errors
    /// None: a failed batch would also bring back the messages that were handled.
    pub async fn handle(&self, event: LambdaEvent<SqsEvent>) -> Result<SqsBatchResponse, Error> {
        let mut response = SqsBatchResponse::default();
        let (mut ids, mut messages) = (Vec::new(), Vec::new());
        for message in event.payload.records {
            let id = message.message_id.unwrap_or_default();
            match serde_json::from_str::<QueueMessage>(message.body.as_deref().unwrap_or_default())
            {
                Ok(message) => {
                    ids.push(id);
                    messages.push(message);
                }
                Err(_) => {
                    // The content is not logged: its sender is unknown, and so is what it contains.
                    warn!(
                        event = "message.unreadable",
                        message_id = id,
                        "a queue message could not be decoded"
                    );
                    response.add_failure(id);
                }
            }
        }
        let deadline = postrider_wiring::deadline(&event.context, self.clock.now());
        for (id, handled) in ids
            .into_iter()
            .zip(self.worker.handle(messages, deadline).await)
        {
            match handled {
                Ok(handled) => {
                    debug!(
                        event = "message.handled",
                        message_id = id,
                        ?handled,
                        "handled a queue message"
                    );
                }
                Err(reason) => {
                    warn!(event = "message.failed", message_id = id, %reason, "a queue message could not be handled");
                    response.add_failure(id);
                }
            }
        }
        Ok(response)
    }
}
