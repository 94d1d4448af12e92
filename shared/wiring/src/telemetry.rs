//! The logs and traces of a function.

use std::sync::Arc;

use anyhow::{Context, anyhow};
use postrider_adapter_otlp::OtlpTraces;
use postrider_gateway::traces;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::metrics::Counted;
use crate::settings::CommonSettings;

impl CommonSettings {
    /// Starts logging and counting, and tracing if it is on.
    ///
    /// # Errors
    /// If the log filter or a trace setting is invalid, or it was started before.
    pub fn start(&self) -> anyhow::Result<()> {
        start_logging(&self.log_filter)?;
        let gateway = self.gateway.as_str().into();
        metrics::set_global_recorder(Counted { gateway })?;
        if let Some(settings) = &self.traces {
            traces::install(Arc::new(OtlpTraces::new(settings)?));
        }
        Ok(())
    }
}

/// Logs JSON lines to standard output, where CloudWatch reads them.
fn start_logging(filter: &str) -> anyhow::Result<()> {
    let filter: Targets = filter
        .parse()
        .context("POSTRIDER_LOG is not a valid log filter")?;
    let lines = fmt::layer()
        .json()
        .flatten_event(true)
        .with_writer(std::io::stdout);
    tracing_subscriber::registry()
        .with(filter)
        .with(lines)
        .try_init()
        .map_err(|error| anyhow!("cannot start logging: {error}"))
}

/// Does the work of one invocation and then sends its traces: afterwards the function is frozen, for an unknown time.
/// Costs nothing while traces are off.
pub async fn traced<T>(work: impl Future<Output = T>) -> T {
    let done = work.await;
    traces::flush().await;
    done
}
