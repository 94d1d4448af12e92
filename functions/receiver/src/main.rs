//! The receiver on Lambda.

use std::sync::Arc;

use lambda_http::Error;
use postrider_gateway::Gateway;
use postrider_web::lambda;
use postrider_wiring::Parts;
use postrider_wiring::settings::ReceiverSettings;

#[tokio::main]
async fn main() -> Result<(), Error> {
    let settings = ReceiverSettings::from_environment()?;
    settings.common.start()?;
    let parts = Parts::assemble(&settings.backend).await?;
    let gateway = Gateway::new(parts.ports, parts.catalogue, parts.queue, settings.limits);
    lambda::run(postrider_receiver::router(Arc::new(gateway))).await
}
