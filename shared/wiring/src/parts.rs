//! What a function works with: store, queue, clock, and clients for AWS.

use std::sync::Arc;

use postrider_adapter_aws::dead_letters::SqsDeadLetters;
use postrider_adapter_aws::first_key::SecretsManagerKey;
use postrider_adapter_aws::sqs::SqsQueue;
#[cfg(feature = "local")]
use postrider_adapter_dev::{DevQueue, DevStore};
use postrider_adapter_system::{SystemClock, SystemEntropy};
use postrider_gateway::Ports;
use postrider_gateway::poll::sweeps::SweepStore;
use postrider_gateway::webhook_cache::WebhookCache;
use postrider_ports::Store;
use postrider_ports::clock::{Clock, Entropy};
use postrider_ports::dead_letters::DeadLetters;
use postrider_ports::first_key::FirstKey;
use postrider_ports::queue::Queue;

use crate::aws::{self, Aws};
use crate::settings::{Backend, variable};

pub struct Parts {
    pub ports: Ports,
    pub webhook_cache: Arc<WebhookCache>,
    pub queue: Arc<dyn Queue>,
    /// The owner of the leases of this process.
    pub process: String,
    /// For further clients; `None` outside AWS.
    pub aws: Option<Aws>,
    /// The store again, if it accepts rows without a lane.
    pub sweeps: Option<Arc<dyn SweepStore>>,
}

impl Parts {
    /// # Errors
    /// If the configured `postrider dev` does not answer.
    pub async fn assemble(backend: &Backend) -> anyhow::Result<Self> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        match backend {
            Backend::Aws { store, queues } => {
                let aws = Aws::load().await;
                let store = aws::store(&aws, store);
                let sqs = aws_sdk_sqs::Client::new(aws.config());
                let queue = SqsQueue::new(sqs, queues.clone(), Arc::clone(&clock));
                let process = process(variable("AWS_LAMBDA_LOG_STREAM_NAME"));
                let sweeps = Arc::clone(&store);
                Ok(Self {
                    sweeps: Some(sweeps),
                    ..Self::over(store, Arc::new(queue), clock, process, Some(aws))
                })
            }
            #[cfg(feature = "local")]
            Backend::Dev(url) => Self::connect_to_dev(url, clock).await,
        }
    }

    #[cfg(feature = "local")]
    async fn connect_to_dev(url: &str, clock: Arc<dyn Clock>) -> anyhow::Result<Self> {
        let store = DevStore::connect(url).await?;
        let process = store.process().to_owned();
        let queue = Arc::new(DevQueue::connect(url)?);
        Ok(Self::over(Arc::new(store), queue, clock, process, None))
    }

    /// The parts on an existing store and queue.
    #[must_use]
    pub fn over(
        store: Arc<dyn Store>,
        queue: Arc<dyn Queue>,
        clock: Arc<dyn Clock>,
        process: String,
        aws: Option<Aws>,
    ) -> Self {
        Self {
            webhook_cache: Arc::new(WebhookCache::new(store.clone())),
            ports: Ports {
                store,
                clock,
                entropy: Arc::new(SystemEntropy),
            },
            queue,
            process,
            aws,
            sweeps: None,
        }
    }

    /// The first API key, from this entry of Secrets Manager; `None` outside AWS. Makes no call yet.
    #[must_use]
    pub fn first_key(&self, secret: String) -> Option<Arc<dyn FirstKey>> {
        let aws = self.aws.as_ref()?;
        let client = aws_sdk_secretsmanager::Client::new(aws.config());
        let clock = Arc::clone(&self.ports.clock);
        Some(Arc::new(SecretsManagerKey::new(client, secret, clock)))
    }

    /// The dead-letter queue at this URL; `None` outside AWS. Makes no call yet.
    #[must_use]
    pub fn dead_letters(&self, url: String) -> Option<Arc<dyn DeadLetters>> {
        let client = aws_sdk_sqs::Client::new(self.aws.as_ref()?.config());
        Some(Arc::new(SqsDeadLetters::new(client, url)))
    }
}

/// The unique part of the log stream's name, so that an operator can find the log of the process that holds a row; a
/// random name outside Lambda.
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
    fn without_a_log_stream_the_name_is_random() {
        assert_ne!(process(None), process(Some(String::new())));
    }
}
