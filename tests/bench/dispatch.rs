//! What the dispatcher takes for a batch: its code on DynamoDB, to a receiver with TLS. `tools/bench-dispatcher` starts it with
//! the share of a processor that Lambda gives to a function of some size.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use clap::Args;
use postrider_adapter_http::{HttpSender, SenderSettings};
use postrider_domain::event::Origin;
use postrider_domain::ids::TenantId;
use postrider_gateway::Gateway;
use postrider_gateway::attempt::Attempts;
use postrider_gateway::ingest::EventDraft;
use postrider_gateway::settings::{GatewaySettings, MAX_BODY_BYTES};
use postrider_gateway::worker::queue::{Handled, QueueWorker};
use postrider_ports::queue::{Queue, QueueMessage};
use postrider_testkit::bodies::Family;
use postrider_testkit::builders::{webhook, webhook_id};
use postrider_testkit::recording_queue::RecordingQueue;
use postrider_wiring::Parts;
use postrider_wiring::settings::DispatcherSettings;
use serde_json::json;
use url::Url;

use crate::procfs::{cpu_seconds, peak_memory_mb};

/// A batch has at most ten messages. Each goes to another webhook, so that nothing is shared.
const MOST: u32 = 10;
const WARM_UP: u32 = 5;
const DEADLINE: Duration = Duration::from_secs(60);

#[derive(Args)]
pub(crate) struct Dispatch {
    /// The receiver of all webhooks
    #[arg(long, value_name = "URL")]
    receiver: Url,
    /// The authority that signed its certificate
    #[arg(long, value_name = "FILE")]
    ca: PathBuf,
    /// The size of each body
    #[arg(long, value_name = "BYTES", default_value_t = 1024)]
    body_bytes: usize,
    /// How many batches of each size
    #[arg(long, value_name = "COUNT", default_value_t = 100)]
    batches: u32,
}

struct Stage {
    gateway: Gateway,
    worker: QueueWorker,
    queue: Arc<RecordingQueue>,
    body: Bytes,
}

/// Prints the time of each size of batch as JSON.
#[tokio::main]
pub(crate) async fn run(arguments: &Dispatch) {
    let stage = Stage::set(arguments).await;
    let mut sizes = Vec::new();
    for size in [1, MOST] {
        stage.attempt(size, WARM_UP).await;
        sizes.push(stage.attempt(size, arguments.batches).await);
    }
    let peak_mb = peak_memory_mb(std::process::id());
    println!("{}", json!({"batches": sizes, "peak_mb": peak_mb}));
}

impl Stage {
    async fn set(arguments: &Dispatch) -> Self {
        let settings = DispatcherSettings::from_environment().unwrap();
        let parts = Parts::assemble(&settings.backend).await.unwrap();
        let tenant = TenantId::default();
        for n in 1..=MOST {
            let mut hook = webhook(&tenant, n);
            hook.settings.target_url = arguments.receiver.clone();
            // It exists already if another share was measured before.
            let _ = parts.ports.store.create_webhook(hook).await;
        }
        let sender = HttpSender::new(SenderSettings {
            rules: settings.egress.clone(),
            extra_roots_pem: Some(std::fs::read(&arguments.ca).unwrap()),
            ..SenderSettings::default()
        });
        let queue = Arc::new(RecordingQueue::default());
        let limits = GatewaySettings {
            max_body_bytes: MAX_BODY_BYTES,
            egress: settings.egress,
            retry: settings.retry,
            event_validation: Default::default(),
        };
        let Parts {
            ports,
            webhook_cache,
            process,
            ..
        } = parts;
        let messages = Arc::clone(&queue) as Arc<dyn Queue>;
        let cache = Arc::clone(&webhook_cache);
        let attempts = Attempts::new(
            ports.clone(),
            Arc::new(sender.unwrap()),
            Arc::clone(&cache),
            settings.retry,
        );
        Self {
            gateway: Gateway::new(
                ports.clone(),
                Arc::clone(&cache),
                Arc::clone(&messages),
                limits,
            ),
            worker: QueueWorker::new(ports, attempts, cache, messages, process),
            queue,
            body: Family::Order.body(1, arguments.body_bytes),
        }
    }

    /// Publishes events and attempts them in batches; returns what the attempts took.
    async fn attempt(&self, size: u32, batches: u32) -> serde_json::Value {
        let mut messages = Vec::new();
        for _ in 0..batches {
            messages.push(self.publish(size).await);
        }
        let (cpu_before, mut wall_ms) = (cpu_seconds(std::process::id()), Vec::new());
        for batch in messages {
            let begun_at = Instant::now();
            let deadline = self.gateway.ports.clock.now().plus(DEADLINE.into());
            for handled in self.worker.handle(batch, deadline).await {
                assert_eq!(handled, Ok(Handled::Attempted));
            }
            wall_ms.push(begun_at.elapsed().as_secs_f64() * 1000.0);
        }
        let cpu = cpu_seconds(std::process::id()) - cpu_before;
        json!({"size": size, "cpu_ms": cpu * 1000.0 / f64::from(batches), "wall_ms": wall_ms})
    }

    async fn publish(&self, size: u32) -> Vec<QueueMessage> {
        let tenant = TenantId::default();
        for n in 1..=size {
            let draft = EventDraft {
                event_type: "order.paid".to_owned(),
                body: self.body.clone(),
                content_type: "application/json".to_owned(),
                session_id: None,
                webhook_id: Some(webhook_id(n).to_string()),
                origin: Origin::Api,
            };
            let published = self.gateway.ingest.publish(&tenant, draft, None);
            published.await.unwrap();
        }
        self.queue.take()
    }
}
