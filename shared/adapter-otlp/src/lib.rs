//! Exports spans to an OpenTelemetry collector, over OTLP/HTTP.
//!
//! Spans are queued, up to a limit, and sent in batches by a separate thread. If the collector is slow or down, spans
//! are lost, but the code that records them never waits.

mod client;
mod collector;
mod convert;

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use async_trait::async_trait;
use opentelemetry::InstrumentationScope;
use opentelemetry_otlp::{ExporterBuildError, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{BatchSpanProcessor, SpanProcessor};
use postrider_ports::spans::{Share, Span, TraceId};
use postrider_ports::traces::{TraceSettings, Traces};
use tokio::sync::oneshot;

use crate::client::Client;
use crate::collector::CollectorHealth;

/// How long sending one batch may take, including retries.
const SEND_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a flush waits.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(500);

pub struct OtlpTraces {
    processor: Arc<BatchSpanProcessor>,
    health: Arc<CollectorHealth>,
    scope: InstrumentationScope,
    share: Share,
}

/// Why spans cannot be sent.
#[derive(Debug, thiserror::Error)]
pub enum OtlpSetupError {
    #[error("cannot set up TLS to the collector: {0}")]
    Tls(#[from] rustls::Error),
    /// One of OpenTelemetry's own settings is invalid.
    #[error("traces: {0}")]
    Exporter(#[from] ExporterBuildError),
}

impl OtlpTraces {
    /// Sends to the collector named by these settings. Makes no call yet. Must be called within a runtime, which then
    /// does the sending.
    ///
    /// # Errors
    /// If a setting is invalid.
    pub fn new(settings: &TraceSettings) -> Result<Self, OtlpSetupError> {
        let health = Arc::new(CollectorHealth::default());
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(Client::new(Arc::clone(&health))?)
            .with_endpoint(settings.endpoint.as_str())
            .with_timeout(SEND_TIMEOUT)
            .build()?;
        let mut processor = BatchSpanProcessor::builder(exporter).build();
        let resource = Resource::builder().with_service_name(settings.service_name.clone());
        processor.set_resource(&resource.build());
        let version = env!("CARGO_PKG_VERSION");
        Ok(Self {
            processor: Arc::new(processor),
            health,
            scope: InstrumentationScope::builder("postrider")
                .with_version(version)
                .build(),
            share: settings.share,
        })
    }
}

#[async_trait]
impl Traces for OtlpTraces {
    fn wants(&self, trace: TraceId) -> bool {
        self.share.has(trace)
    }

    fn record(&self, span: Span) {
        self.processor
            .on_end(convert::span(span, self.scope.clone()));
    }

    /// Waits only for a collector that accepted the previous batch: one that does not answer would delay every
    /// invocation of a function. Spans that remain are sent with a later batch, or lost.
    async fn flush(&self) {
        if !self.health.is_good() {
            return;
        }
        let (done, flushed) = oneshot::channel();
        let processor = Arc::clone(&self.processor);
        // Not on the runtime: its shutdown would wait for this.
        thread::spawn(move || {
            // The client records whether it worked, and the caller may have stopped waiting.
            let _ = processor.force_flush();
            let _ = done.send(());
        });
        if tokio::time::timeout(FLUSH_TIMEOUT, flushed).await.is_err() {
            self.health.failed("timed out");
        }
    }
}
