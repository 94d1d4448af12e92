//! The poller on Lambda.

use lambda_runtime::{Error, service_fn};
use postrider_poller::Poller;
use postrider_wiring::Parts;
use postrider_wiring::settings::PollerSettings;

#[tokio::main]
async fn main() -> Result<(), Error> {
    let settings = PollerSettings::from_environment()?;
    settings.common.start()?;
    let parts = Parts::assemble(&settings.backend).await?;
    let poller = Poller::new(parts, settings.grace, settings.common.gateway);
    lambda_runtime::run(service_fn(|event| poller.handle(event))).await
}
