//! Traces of a function.

use std::sync::Arc;

use postrider_adapter_otlp::OtlpTraces;
use postrider_gateway::traces;
use postrider_ports::traces::TraceSettings;

/// Records from now on.
pub(crate) fn start(settings: &TraceSettings) -> anyhow::Result<()> {
    traces::install(Arc::new(OtlpTraces::new(settings)?));
    Ok(())
}

/// Does the work of one invocation and sends its traces on: after it the function is frozen, and nobody knows when it
/// is thawed. Costs nothing while traces are off.
pub async fn traced<T>(work: impl Future<Output = T>) -> T {
    let done = work.await;
    traces::flush().await;
    done
}
