//! Pausing, resuming, testing and deleting a webhook, and rotating its secret.

use axum::extract::State;
use axum::response::{Redirect, Response};
use http::StatusCode;
use postrider_domain::ids::WebhookId;

use super::page::with_secret;
use crate::App;
use crate::fields::Named;
use crate::page::PageError;
use crate::session::{Manager, Viewer};

fn back(viewer: &Viewer, id: WebhookId, done: &str) -> Redirect {
    viewer.redirect(&format!("/webhooks/{id}?done={done}"))
}

pub(crate) async fn pause(
    State(app): State<App>,
    Manager(viewer): Manager,
    Named(id): Named<WebhookId>,
) -> Result<Redirect, PageError> {
    app.gateway.manage.pause(viewer.tenant(), id).await?;
    Ok(back(&viewer, id, "paused"))
}

pub(crate) async fn resume(
    State(app): State<App>,
    Manager(viewer): Manager,
    Named(id): Named<WebhookId>,
) -> Result<Redirect, PageError> {
    app.gateway.manage.resume(viewer.tenant(), id).await?;
    Ok(back(&viewer, id, "resumed"))
}

/// Rotates to a generated secret, which the response shows.
pub(crate) async fn rotate(
    State(app): State<App>,
    Manager(viewer): Manager,
    Named(id): Named<WebhookId>,
) -> Result<Response, PageError> {
    let rotated = app
        .gateway
        .manage
        .rotate_secret(viewer.tenant(), id, None)
        .await?;
    with_secret(&app, &viewer, id, rotated.secret.expose(), StatusCode::OK).await
}

pub(crate) async fn delete(
    State(app): State<App>,
    Manager(viewer): Manager,
    Named(id): Named<WebhookId>,
) -> Result<Redirect, PageError> {
    app.gateway.manage.delete(viewer.tenant(), id).await?;
    Ok(viewer.redirect("/webhooks?done=webhook-deleted"))
}

/// Sends a test event and opens its delivery.
pub(crate) async fn test(
    State(app): State<App>,
    Manager(viewer): Manager,
    Named(id): Named<WebhookId>,
) -> Result<Redirect, PageError> {
    let published = app.gateway.send_test(viewer.tenant(), id).await?;
    let delivery = published.deliveries.first();
    let delivery = delivery.ok_or_else(|| PageError::not_found("delivery"))?;
    Ok(viewer.redirect(&format!("/deliveries/{delivery}")))
}
