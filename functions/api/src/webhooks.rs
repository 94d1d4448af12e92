//! Webhooks: creating, changing, pausing, testing and deleting them.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use postrider_api_types::ApiTime;
use postrider_api_types::event::EventAnswer;
use postrider_api_types::webhook::{
    BacklogView, CreatedWebhook, NewWebhook, RotatedSecretView, Rotation, WebhookListView,
    WebhookPatch, WebhookView,
};
use postrider_domain::ids::WebhookId;
use postrider_domain::webhook::Webhook;
use postrider_web::answer::StoredEvent;

use crate::Api;
use crate::auth::{Caller, Manage, Read};
use crate::created::Created;
use crate::extract::{Document, Id, Optional, Query};
use crate::openapi::{ChangeProblems, CreateProblems, ItemProblems, Problems, RotateProblems};
use crate::problem::{Problem, ProblemBody};

/// Create a webhook
#[utoipa::path(
    post, path = "/v1/webhooks", operation_id = "create_webhook", tag = "webhooks", security(("token" = ["manage"])),
    request_body = NewWebhook,
    responses(
        (status = 201, description = "Created; the only response that shows the secret.", body = CreatedWebhook,
            headers(("Location" = String, description = "The path of the webhook."))),
        CreateProblems,
    )
)]
pub(crate) async fn create(
    State(api): State<Api>,
    caller: Caller<Manage>,
    Document(given): Document<NewWebhook>,
) -> Result<Created<CreatedWebhook>, Problem> {
    let (draft, secret) = given.into_draft();
    let manage = &api.gateway.manage;
    let webhook = manage
        .create(caller.tenant(), draft, secret.as_deref())
        .await?;
    let view = CreatedWebhook::of(&webhook, api.gateway.settings.retry);
    Ok(Created::new("/v1/webhooks", webhook.id, view))
}

/// List webhooks
#[utoipa::path(
    get, path = "/v1/webhooks", operation_id = "list_webhooks", tag = "webhooks", security(("token" = ["read"])),
    responses((status = 200, description = "All webhooks, oldest first.", body = WebhookListView), Problems)
)]
pub(crate) async fn list(
    State(api): State<Api>,
    caller: Caller<Read>,
    _: Query<()>,
) -> Result<Json<WebhookListView>, Problem> {
    let webhooks = api.gateway.manage.list(caller.tenant()).await?;
    let flows = api.gateway.manage.flows(&webhooks).await?;
    let runtime = api.gateway.settings.retry;
    let views = webhooks.iter().zip(flows);
    let views = views.map(|(webhook, flow)| WebhookView::of(webhook, flow, runtime));
    Ok(Json(WebhookListView {
        items: views.collect(),
        next_cursor: None,
    }))
}

/// A webhook that was changed, with its current rate. Its backlog is not counted: on AWS that takes many reads.
async fn changed(api: &Api, webhook: Webhook) -> Result<Json<WebhookView>, Problem> {
    let flow = api.gateway.manage.flow(&webhook).await?;
    let view = WebhookView::of(&webhook, flow, api.gateway.settings.retry);
    Ok(Json(view))
}

/// Get a webhook
#[utoipa::path(
    get, path = "/v1/webhooks/{id}", operation_id = "get_webhook", tag = "webhooks", security(("token" = ["read"])),
    params(("id" = String, Path, description = "`wh_…`")),
    responses((status = 200, description = "The webhook.", body = WebhookView), ItemProblems)
)]
pub(crate) async fn get(
    State(api): State<Api>,
    caller: Caller<Read>,
    Id(id): Id<WebhookId>,
) -> Result<Json<WebhookView>, Problem> {
    let manage = &api.gateway.manage;
    let webhook = manage.get(caller.tenant(), id).await?;
    let flow = manage.flow(&webhook).await?;
    let backlog = manage.backlog(&webhook, flow).await;
    let backlog = backlog.map(|backlog| BacklogView::of(backlog.size, backlog.empty_at));
    Ok(Json(WebhookView {
        backlog,
        ..WebhookView::of(&webhook, flow, api.gateway.settings.retry)
    }))
}

/// Change a webhook
///
/// A field that is absent does not change; `null` resets an optional field to its default. `headers` and `retry` are
/// replaced as a whole, except that a header whose value is `***`, as responses show it, keeps its value.
#[utoipa::path(
    patch, path = "/v1/webhooks/{id}", operation_id = "change_webhook", tag = "webhooks", security(("token" = ["manage"])),
    params(("id" = String, Path, description = "`wh_…`")),
    request_body = WebhookPatch,
    responses(
        (status = 200, description = "The webhook.", body = WebhookView),
        ChangeProblems,
    )
)]
pub(crate) async fn patch(
    State(api): State<Api>,
    caller: Caller<Manage>,
    Id(id): Id<WebhookId>,
    Document(given): Document<WebhookPatch>,
) -> Result<Json<WebhookView>, Problem> {
    given.reject_secret()?;
    let manage = &api.gateway.manage;
    let webhook = manage
        .change(caller.tenant(), id, |draft| given.apply_to(draft))
        .await?;
    changed(&api, webhook).await
}

/// Delete a webhook
///
/// Its pending deliveries become dead.
#[utoipa::path(
    delete, path = "/v1/webhooks/{id}", operation_id = "delete_webhook", tag = "webhooks", security(("token" = ["manage"])),
    params(("id" = String, Path, description = "`wh_…`")),
    responses((status = 204, description = "Deleted."), ItemProblems)
)]
pub(crate) async fn delete(
    State(api): State<Api>,
    caller: Caller<Manage>,
    Id(id): Id<WebhookId>,
) -> Result<StatusCode, Problem> {
    api.gateway.manage.delete(caller.tenant(), id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Rotate the secret
///
/// The old secret stays valid for a day.
#[utoipa::path(
    post, path = "/v1/webhooks/{id}/rotate-secret", operation_id = "rotate_webhook_secret", tag = "webhooks", security(("token" = ["manage"])),
    params(("id" = String, Path, description = "`wh_…`")),
    request_body(content = Option<Rotation>, content_type = "application/json"),
    responses(
        (status = 200, description = "Rotated; the only response that shows the new secret.", body = RotatedSecretView),
        RotateProblems,
    )
)]
pub(crate) async fn rotate_secret(
    State(api): State<Api>,
    caller: Caller<Manage>,
    Id(id): Id<WebhookId>,
    Optional(given): Optional<Rotation>,
) -> Result<Json<RotatedSecretView>, Problem> {
    let manage = &api.gateway.manage;
    let rotated = manage
        .rotate_secret(caller.tenant(), id, given.secret.as_deref())
        .await?;
    Ok(Json(RotatedSecretView {
        secret: rotated.secret.expose().to_owned().into(),
        previous_expires_at: ApiTime(rotated.previous_expires_at),
    }))
}

/// Pause a webhook
///
/// Deliveries are on hold until it is resumed.
#[utoipa::path(
    post, path = "/v1/webhooks/{id}/pause", operation_id = "pause_webhook", tag = "webhooks", security(("token" = ["manage"])),
    params(("id" = String, Path, description = "`wh_…`")),
    responses((status = 200, description = "The webhook.", body = WebhookView), ItemProblems)
)]
pub(crate) async fn pause(
    State(api): State<Api>,
    caller: Caller<Manage>,
    Id(id): Id<WebhookId>,
) -> Result<Json<WebhookView>, Problem> {
    let webhook = api.gateway.manage.pause(caller.tenant(), id).await?;
    changed(&api, webhook).await
}

/// Resume a paused, failed or disabled webhook
#[utoipa::path(
    post, path = "/v1/webhooks/{id}/resume", operation_id = "resume_webhook", tag = "webhooks", security(("token" = ["manage"])),
    params(("id" = String, Path, description = "`wh_…`")),
    responses((status = 200, description = "The webhook.", body = WebhookView), ItemProblems)
)]
pub(crate) async fn resume(
    State(api): State<Api>,
    caller: Caller<Manage>,
    Id(id): Id<WebhookId>,
) -> Result<Json<WebhookView>, Problem> {
    let webhook = api.gateway.manage.resume(caller.tenant(), id).await?;
    changed(&api, webhook).await
}

/// Send a test event to a webhook, whatever it subscribes to
#[utoipa::path(
    post, path = "/v1/webhooks/{id}/test", operation_id = "test_webhook", tag = "webhooks", security(("token" = ["manage"])),
    params(("id" = String, Path, description = "`wh_…`")),
    responses(
        (status = 202, description = "Stored like any other event.", body = EventAnswer),
        (status = 409, description = "The webhook is disabled.", body = ProblemBody, content_type = "application/problem+json"),
        ItemProblems,
    )
)]
pub(crate) async fn test(
    State(api): State<Api>,
    caller: Caller<Manage>,
    Id(id): Id<WebhookId>,
) -> Result<StoredEvent, Problem> {
    let published = api.gateway.send_test(caller.tenant(), id).await?;
    Ok(published.into())
}
