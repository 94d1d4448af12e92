//! The bridge on Lambda.

use lambda_runtime::{Error, service_fn};
use postrider_bridge::Bridge;
use postrider_gateway::Gateway;
use postrider_wiring::settings::BridgeSettings;
use postrider_wiring::{Parts, traced};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let settings = BridgeSettings::from_environment()?;
    settings.common.start()?;
    let parts = Parts::assemble(&settings.backend).await?;
    let dead_letters = parts.dead_letters(settings.dead_letters_url);
    let bridge = Bridge {
        dead_letters: dead_letters.ok_or("the bridge runs on AWS only")?,
        gateway: Gateway::new(
            parts.ports,
            parts.webhook_cache,
            parts.queue,
            settings.limits,
        ),
        tenant: settings.tenant,
        name: settings.common.gateway,
    };
    lambda_runtime::run(service_fn(|event| traced(bridge.handle(event)))).await
}
