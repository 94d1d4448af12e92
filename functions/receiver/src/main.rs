//! The receiver on Lambda.

use std::sync::Arc;

use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use lambda_http::Error;
use postrider_gateway::Gateway;
use postrider_web::lambda;
use postrider_wiring::settings::ReceiverSettings;
use postrider_wiring::{Parts, traced};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let settings = ReceiverSettings::from_environment()?;
    settings.common.start()?;
    let parts = Parts::assemble(&settings.backend).await?;
    let gateway = Gateway::new(
        parts.ports,
        parts.webhook_cache,
        parts.queue,
        settings.limits,
    );
    let router = postrider_receiver::router(Arc::new(gateway));
    lambda::run(router.layer(from_fn(wrap))).await
}

async fn wrap(request: Request, next: Next) -> Response {
    traced(lambda::in_time(next.run(request))).await
}
