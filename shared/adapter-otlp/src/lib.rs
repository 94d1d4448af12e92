//! Spans for an OpenTelemetry collector, over OTLP/HTTP.
//!
//! Spans are queued, up to a bound, and sent in batches by a thread of their own. A collector that is slow or gone costs
//! spans, and never the time of whoever recorded them.

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
use postrider_domain::trace::{Share, Span, TraceId};
use postrider_ports::traces::{TraceSettings, Traces};
use tokio::sync::oneshot;

use crate::client::Client;
use crate::collector::CollectorHealth;

/// How long one batch may take to be sent, every try included.
const SEND_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a flush waits.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(500);

/// Sends spans to a collector.
pub struct OtlpTraces {
    processor: Arc<BatchSpanProcessor>,
    line: Arc<CollectorHealth>,
    scope: InstrumentationScope,
    share: Share,
}

/// Why spans cannot be sent.
#[derive(Debug, thiserror::Error)]
pub enum OtlpSetupError {
    /// TLS cannot be set up.
    #[error("TLS towards the collector: {0}")]
    Tls(#[from] rustls::Error),
    /// A setting of OpenTelemetry's own does not fit.
    #[error("traces: {0}")]
    Exporter(#[from] ExporterBuildError),
}

impl OtlpTraces {
    /// Sends to the collector that these settings name. Calls nobody yet. Must be called within a runtime, which then
    /// does the sending.
    ///
    /// # Errors
    /// When a setting does not fit.
    pub fn new(settings: &TraceSettings) -> Result<Self, OtlpSetupError> {
        let line = Arc::new(CollectorHealth::default());
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(Client::new(Arc::clone(&line))?)
            .with_endpoint(settings.endpoint.as_str())
            .with_timeout(SEND_TIMEOUT)
            .build()?;
        let mut processor = BatchSpanProcessor::builder(exporter).build();
        let resource = Resource::builder().with_service_name(settings.service_name.clone());
        processor.set_resource(&resource.build());
        let version = env!("CARGO_PKG_VERSION");
        Ok(Self {
            processor: Arc::new(processor),
            line,
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

    /// Waits only for a collector that took the batch before: one that does not answer would keep every invocation of
    /// a function waiting. What is left is sent at its time, or lost.
    async fn flush(&self) {
        if !self.line.is_good() {
            return;
        }
        let (done, flushed) = oneshot::channel();
        let processor = Arc::clone(&self.processor);
        // Not on the runtime: its end would wait for it.
        thread::spawn(move || {
            // Whether it worked is the line's to know, and whether anybody waits is not ours.
            let _ = processor.force_flush();
            let _ = done.send(());
        });
        if tokio::time::timeout(FLUSH_TIMEOUT, flushed).await.is_err() {
            self.line.failed("no answer in time");
        }
    }
}
