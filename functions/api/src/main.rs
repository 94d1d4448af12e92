//! The API on Lambda.

use std::sync::Arc;

use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use lambda_http::Error;
use postrider_api::{PageSettings, Streaming};
use postrider_gateway::Gateway;
use postrider_gateway::shadow::Shadows;
use postrider_web::lambda;
use postrider_wiring::settings::ApiSettings;
use postrider_wiring::{LateSender, Parts, traced};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let settings = ApiSettings::from_environment()?;
    settings.common.start()?;
    let parts = Parts::assemble(&settings.backend).await?;
    let first_key = settings
        .first_key_secret
        .and_then(|secret| parts.first_key(secret));
    let egress = settings.limits.egress.clone();
    let sender = Arc::new(LateSender::new(egress.clone()));
    let shadows = Shadows::new(parts.ports.clone(), sender, egress);
    let gateway = Gateway::new(
        parts.ports,
        parts.webhook_cache,
        parts.queue,
        settings.limits,
    );
    if let Some(first_key) = first_key {
        gateway.keyring.welcome(first_key);
    }
    let pages = PageSettings {
        once: None,
        portal: settings.portal,
    };
    let router = postrider_api::router_with(Arc::new(gateway), shadows, Streaming::Polled, pages);
    lambda::run(router.layer(from_fn(wrap))).await
}

async fn wrap(request: Request, next: Next) -> Response {
    traced(lambda::in_time(next.run(request))).await
}
