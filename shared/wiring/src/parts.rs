//! What a function works with.

use std::sync::Arc;

use postrider_adapter_aws::sqs::SqsQueue;
use postrider_adapter_system::{SystemClock, SystemEntropy};
use postrider_gateway::Ports;
use postrider_gateway::webhook_cache::WebhookCache;
use postrider_ports::Store;
use postrider_ports::clock::{Clock, Entropy};
use postrider_ports::queue::Queue;

use crate::aws::{self, Aws};
use crate::settings::{Backend, CommonSettings};
use crate::{environment, logging, traces};

/// What a function works with.
pub struct Parts {
    /// Store, clock and randomness.
    pub ports: Ports,
    /// The webhooks it remembers.
    pub webhook_cache: Arc<WebhookCache>,
    /// The queue of hints.
    pub queue: Arc<dyn Queue>,
    /// What it claims rows in the name of.
    pub process: String,
    /// For further clients; none where there is no AWS.
    pub aws: Option<Aws>,
}

impl CommonSettings {
    /// Starts logging, and traces if they are on.
    ///
    /// # Errors
    /// When the filter is none, or a setting of traces does not fit.
    pub fn start(&self) -> anyhow::Result<()> {
        logging::start(&self.log_filter)?;
        if let Some(settings) = &self.traces {
            traces::start(settings)?;
        }
        Ok(())
    }
}

impl Parts {
    /// Puts them together.
    ///
    /// # Errors
    /// When a `postrider dev` that was named does not answer.
    pub async fn assemble(backend: &Backend) -> anyhow::Result<Self> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        match backend {
            Backend::Aws { store, queue_url } => {
                let aws = Aws::load().await;
                let store = aws::store(&aws, store);
                let sqs = aws_sdk_sqs::Client::new(aws.config());
                let queue = SqsQueue::new(sqs, queue_url.clone(), Arc::clone(&clock));
                let process = process(environment::variable("AWS_LAMBDA_LOG_STREAM_NAME"));
                Ok(Self::over(
                    store,
                    Arc::new(queue),
                    clock,
                    process,
                    Some(aws),
                ))
            }
            #[cfg(feature = "local")]
            Backend::Dev(url) => crate::dev::connect(url, clock).await,
        }
    }

    /// The same, over a store and a queue that are there already.
    #[must_use]
    pub fn over(
        store: Arc<dyn Store>,
        queue: Arc<dyn Queue>,
        clock: Arc<dyn Clock>,
        process: String,
        aws: Option<Aws>,
    ) -> Self {
        Self {
            webhook_cache: Arc::new(WebhookCache::new(Arc::clone(&store))),
            ports: Ports {
                store,
                clock,
                entropy: Arc::new(SystemEntropy),
            },
            queue,
            process,
            aws,
        }
    }
}

/// The part of a log stream's name that no other has, so that an operator finds the log of whoever holds a row; a drawn
/// name outside of Lambda.
fn process(log_stream: Option<String>) -> String {
    let of_stream = log_stream.and_then(|name| name.rsplit(']').next().map(str::to_owned));
    of_stream
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| {
            let entropy: &dyn Entropy = &SystemEntropy;
            format!("{:016x}", u64::from_ne_bytes(entropy.bytes()))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_named_after_its_log_stream() {
        let stream = "2026/02/21/[$LATEST]0123456789abcdef0123456789abcdef";
        let named = process(Some(stream.to_owned()));
        assert_eq!(named, "0123456789abcdef0123456789abcdef");
    }

    #[test]
    fn without_a_log_stream_a_name_is_drawn() {
        assert_ne!(process(None), process(Some(String::new())));
    }
}
