//! Attempts the deliveries that hints name.

use std::sync::Arc;

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent};
use lambda_runtime::{Error, LambdaEvent};
use postrider_domain::retry::RuntimeRetry;
use postrider_gateway::dispatch::Dispatcher;
use postrider_gateway::hints::Hints;
use postrider_ports::queue::Hint;
use postrider_ports::sender::Sender;
use postrider_wiring::Parts;
use tracing::{debug, warn};

/// Handles batches of hints.
pub struct Batches {
    hints: Hints,
}

impl Batches {
    /// Over these parts, by this sender.
    #[must_use]
    pub fn new(parts: Parts, sender: Arc<dyn Sender>, retry: RuntimeRetry) -> Self {
        let Parts {
            ports,
            catalogue,
            queue,
            process,
            ..
        } = parts;
        let dispatcher = Dispatcher::new(ports.clone(), sender, Arc::clone(&catalogue), retry);
        Self {
            hints: Hints::new(ports, dispatcher, catalogue, queue, process),
        }
    }

    /// Handles a batch and names the messages that should come again: those that we could not handle, and those that
    /// are no hints, which the queue sets aside after a few tries.
    ///
    /// # Errors
    /// None: a failed batch would bring back the messages that were handled, too.
    pub async fn handle(&self, event: LambdaEvent<SqsEvent>) -> Result<SqsBatchResponse, Error> {
        let mut response = SqsBatchResponse::default();
        let (mut ids, mut hints) = (Vec::new(), Vec::new());
        for message in event.payload.records {
            let id = message.message_id.unwrap_or_default();
            match serde_json::from_str::<Hint>(message.body.as_deref().unwrap_or_default()) {
                Ok(hint) => {
                    ids.push(id);
                    hints.push(hint);
                }
                Err(_) => {
                    // Not what it says: who sent it is unknown, and so is what it holds.
                    warn!(message_id = id, "hint.unreadable");
                    response.add_failure(id);
                }
            }
        }
        let deadline = postrider_wiring::deadline(&event.context);
        for (id, handled) in ids
            .into_iter()
            .zip(self.hints.handle(hints, deadline).await)
        {
            match handled {
                Ok(handled) => {
                    debug!(message_id = id, ?handled, "hint.handled");
                }
                Err(reason) => {
                    warn!(message_id = id, %reason, "hint.failed");
                    response.add_failure(id);
                }
            }
        }
        Ok(response)
    }
}
