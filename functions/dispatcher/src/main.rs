//! The dispatcher on Lambda.

use std::sync::Arc;

use lambda_runtime::{Error, service_fn};
use postrider_dispatcher::Batches;
use postrider_wiring::settings::DispatcherSettings;
use postrider_wiring::{Parts, sender, traced};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let settings = DispatcherSettings::from_environment()?;
    settings.common.start()?;
    let parts = Parts::assemble(&settings.backend).await?;
    let sender = Arc::new(sender(settings.egress, &settings.backend)?);
    let batches = Batches::new(parts, sender, settings.retry);
    lambda_runtime::run(service_fn(|event| traced(batches.handle(event)))).await
}
