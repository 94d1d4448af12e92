//! Pausing, resuming, testing and deleting a webhook, and rotating its secret.

use axum::extract::State;
use axum::response::{Redirect, Response};
use http::StatusCode;
use postrider_domain::ids::WebhookId;

use super::page::with_secret;
use crate::inspector::fields::Named;
use crate::inspector::page::PageError;
use crate::inspector::session::Manager;
use crate::{Api, webhooks};

fn back(id: WebhookId, done: &str) -> Redirect {
    Redirect::to(&format!("/inspector/webhooks/{id}?done={done}"))
}

pub(in crate::inspector) async fn pause(
    State(api): State<Api>,
    Manager(viewer): Manager,
    Named(id): Named<WebhookId>,
) -> Result<Redirect, PageError> {
    api.gateway.manage.pause(viewer.tenant(), id).await?;
    Ok(back(id, "paused"))
}

pub(in crate::inspector) async fn resume(
    State(api): State<Api>,
    Manager(viewer): Manager,
    Named(id): Named<WebhookId>,
) -> Result<Redirect, PageError> {
    api.gateway.manage.resume(viewer.tenant(), id).await?;
    Ok(back(id, "resumed"))
}

/// Rotates to a generated secret, which the response shows.
pub(in crate::inspector) async fn rotate(
    State(api): State<Api>,
    Manager(viewer): Manager,
    Named(id): Named<WebhookId>,
) -> Result<Response, PageError> {
    let rotated = api
        .gateway
        .manage
        .rotate_secret(viewer.tenant(), id, None)
        .await?;
    with_secret(&api, &viewer, id, rotated.secret.expose(), StatusCode::OK).await
}

pub(in crate::inspector) async fn delete(
    State(api): State<Api>,
    Manager(viewer): Manager,
    Named(id): Named<WebhookId>,
) -> Result<Redirect, PageError> {
    api.gateway.manage.delete(viewer.tenant(), id).await?;
    Ok(Redirect::to("/inspector/webhooks?done=webhook-deleted"))
}

/// Sends a test event and opens its delivery.
pub(in crate::inspector) async fn test(
    State(api): State<Api>,
    Manager(viewer): Manager,
    Named(id): Named<WebhookId>,
) -> Result<Redirect, PageError> {
    let published = webhooks::send_test(&api, viewer.tenant(), id).await?;
    let delivery = published.deliveries.first();
    let delivery = delivery.ok_or_else(|| PageError::not_found("delivery"))?;
    Ok(Redirect::to(&format!("/inspector/deliveries/{delivery}")))
}
