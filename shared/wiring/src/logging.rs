//! Log lines as JSON on standard output, which is where CloudWatch takes them from.

use anyhow::{Context, anyhow};
use tracing_subscriber::EnvFilter;

/// Starts logging what passes `filter`.
pub(crate) fn start(filter: &str) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(filter).context("POSTRIDER_LOG is no tracing filter")?;
    tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_env_filter(filter)
        .with_writer(std::io::stdout)
        .try_init()
        .map_err(|error| anyhow!("logging could not be started: {error}"))
}
