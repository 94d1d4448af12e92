//! Webhooks: making, changing, pausing, testing and removing them.

mod input;
mod view;

use axum::Json;
use axum::extract::State;
use http::{HeaderName, StatusCode, header};
use postrider_domain::event::Origin;
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::test_event;
use postrider_domain::webhook::Webhook;
use postrider_gateway::GatewayError;
use postrider_gateway::ingest::{EventDraft, Published};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Api;
use crate::auth::{Caller, Manage, Read};
use crate::events::EventAnswer;
use crate::extract::{Document, Id, NoParameters, Optional, Query};
use crate::openapi::{DocumentProblems, Problems};
use crate::problem::{Problem, ProblemBody};
use crate::views::Time;
use crate::webhooks::input::{NewWebhook, WebhookPatch};
use crate::webhooks::view::{CreatedWebhook, WebhookList, WebhookView};

pub(crate) use view::shown_headers;

/// Make a webhook
#[utoipa::path(
    post, path = "/v1/webhooks", operation_id = "create_webhook", tag = "webhooks", security(("token" = ["manage"])),
    request_body = NewWebhook,
    responses(
        (status = 201, description = "Made; the only answer that shows the secret.", body = CreatedWebhook,
            headers(("Location" = String, description = "The path of the webhook."))),
        (status = 409, description = "The tenant has as many webhooks as it may have.", body = ProblemBody, content_type = "application/problem+json"),
        DocumentProblems,
        Problems,
    )
)]
pub(crate) async fn create(
    State(api): State<Api>,
    caller: Caller<Manage>,
    Document(given): Document<NewWebhook>,
) -> Result<(StatusCode, [(HeaderName, String); 1], Json<CreatedWebhook>), Problem> {
    let (draft, secret) = given.into_draft();
    let manage = &api.gateway.manage;
    let webhook = manage
        .create(caller.tenant(), draft, secret.as_deref())
        .await?;
    let location = [(header::LOCATION, format!("/v1/webhooks/{}", webhook.id))];
    let created = CreatedWebhook::of(&webhook, api.gateway.settings.retry);
    Ok((StatusCode::CREATED, location, Json(created)))
}

/// List webhooks
#[utoipa::path(
    get, path = "/v1/webhooks", operation_id = "list_webhooks", tag = "webhooks", security(("token" = ["read"])),
    responses((status = 200, description = "All webhooks, the oldest first.", body = WebhookList), Problems)
)]
pub(crate) async fn list(
    State(api): State<Api>,
    caller: Caller<Read>,
    _: Query<NoParameters>,
) -> Result<Json<WebhookList>, Problem> {
    let webhooks = api.gateway.manage.list(caller.tenant()).await?;
    let paces = api.gateway.manage.paces(caller.tenant(), &webhooks).await?;
    let items = webhooks.iter().zip(&paces);
    Ok(Json(WebhookList::of(items, api.gateway.settings.retry)))
}

/// A webhook as it is now, with the rate that it has now.
async fn shown(api: &Api, webhook: Webhook) -> Result<Json<WebhookView>, Problem> {
    let paces = api
        .gateway
        .manage
        .paces(&webhook.tenant, std::slice::from_ref(&webhook))
        .await?;
    let pace = paces.first().copied().unwrap_or_default();
    let view = WebhookView::of(&webhook, &pace, api.gateway.settings.retry);
    Ok(Json(view))
}

/// One webhook
#[utoipa::path(
    get, path = "/v1/webhooks/{id}", operation_id = "get_webhook", tag = "webhooks", security(("token" = ["read"])),
    params(("id" = String, Path, description = "`wh_…`")),
    responses(
        (status = 200, description = "The webhook.", body = WebhookView),
        (status = 404, description = "There is none with this id.", body = ProblemBody, content_type = "application/problem+json"),
        Problems,
    )
)]
pub(crate) async fn get(
    State(api): State<Api>,
    caller: Caller<Read>,
    Id(id): Id<WebhookId>,
) -> Result<Json<WebhookView>, Problem> {
    let webhook = api.gateway.manage.get(caller.tenant(), id).await?;
    shown(&api, webhook).await
}

/// Change a webhook
///
/// A field that is absent stays as it is; `null` puts an optional field back to its default. `headers` and `retry` are
/// replaced as a whole, except that a header whose value is given as `***`, as it is shown, keeps its value.
#[utoipa::path(
    patch, path = "/v1/webhooks/{id}", operation_id = "change_webhook", tag = "webhooks", security(("token" = ["manage"])),
    params(("id" = String, Path, description = "`wh_…`")),
    request_body = WebhookPatch,
    responses(
        (status = 200, description = "As it is now.", body = WebhookView),
        (status = 404, description = "There is none with this id.", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "Somebody else changed it at the same time.", body = ProblemBody, content_type = "application/problem+json"),
        DocumentProblems,
        Problems,
    )
)]
pub(crate) async fn patch(
    State(api): State<Api>,
    caller: Caller<Manage>,
    Id(id): Id<WebhookId>,
    Document(given): Document<WebhookPatch>,
) -> Result<Json<WebhookView>, Problem> {
    given.refuse_secret()?;
    let manage = &api.gateway.manage;
    let webhook = manage
        .change(caller.tenant(), id, |draft| given.apply_to(draft))
        .await?;
    shown(&api, webhook).await
}

/// Delete a webhook; its open deliveries die
#[utoipa::path(
    delete, path = "/v1/webhooks/{id}", operation_id = "delete_webhook", tag = "webhooks", security(("token" = ["manage"])),
    params(("id" = String, Path, description = "`wh_…`")),
    responses(
        (status = 204, description = "Deleted."),
        (status = 404, description = "There is none with this id.", body = ProblemBody, content_type = "application/problem+json"),
        Problems,
    )
)]
pub(crate) async fn delete(
    State(api): State<Api>,
    caller: Caller<Manage>,
    Id(id): Id<WebhookId>,
) -> Result<StatusCode, Problem> {
    api.gateway.manage.delete(caller.tenant(), id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A secret to bring along.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rotation {
    /// `whsec_` and the base64 of 24 to 64 bytes; one is drawn unless set.
    #[serde(default)]
    secret: Option<String>,
}

/// A secret that was just made.
#[derive(Serialize, ToSchema)]
#[schema(as = RotatedSecret)]
pub(crate) struct RotatedView {
    /// The new secret, shown this once.
    secret: String,
    /// Until when the one before signs along.
    previous_expires_at: Time,
}

/// Replace the secret; the old one stays valid for a day
#[utoipa::path(
    post, path = "/v1/webhooks/{id}/rotate-secret", operation_id = "rotate_webhook_secret", tag = "webhooks", security(("token" = ["manage"])),
    params(("id" = String, Path, description = "`wh_…`")),
    request_body(content = Option<Rotation>, content_type = "application/json"),
    responses(
        (status = 200, description = "Replaced; the only answer that shows the new secret.", body = RotatedView),
        (status = 404, description = "There is none with this id.", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "Too many secrets would be valid, or somebody else changed it.", body = ProblemBody, content_type = "application/problem+json"),
        DocumentProblems,
        Problems,
    )
)]
pub(crate) async fn rotate_secret(
    State(api): State<Api>,
    caller: Caller<Manage>,
    Id(id): Id<WebhookId>,
    Optional(given): Optional<Rotation>,
) -> Result<Json<RotatedView>, Problem> {
    let manage = &api.gateway.manage;
    let rotated = manage
        .rotate_secret(caller.tenant(), id, given.secret.as_deref())
        .await?;
    Ok(Json(RotatedView {
        secret: rotated.secret.expose().to_owned(),
        previous_expires_at: Time(rotated.previous_expires_at),
    }))
}

/// Hold deliveries back until somebody resumes
#[utoipa::path(
    post, path = "/v1/webhooks/{id}/pause", operation_id = "pause_webhook", tag = "webhooks", security(("token" = ["manage"])),
    params(("id" = String, Path, description = "`wh_…`")),
    responses(
        (status = 200, description = "As it is now.", body = WebhookView),
        (status = 404, description = "There is none with this id.", body = ProblemBody, content_type = "application/problem+json"),
        Problems,
    )
)]
pub(crate) async fn pause(
    State(api): State<Api>,
    caller: Caller<Manage>,
    Id(id): Id<WebhookId>,
) -> Result<Json<WebhookView>, Problem> {
    let webhook = api.gateway.manage.pause(caller.tenant(), id).await?;
    shown(&api, webhook).await
}

/// Set a paused, failed or disabled webhook going again
#[utoipa::path(
    post, path = "/v1/webhooks/{id}/resume", operation_id = "resume_webhook", tag = "webhooks", security(("token" = ["manage"])),
    params(("id" = String, Path, description = "`wh_…`")),
    responses(
        (status = 200, description = "As it is now.", body = WebhookView),
        (status = 404, description = "There is none with this id.", body = ProblemBody, content_type = "application/problem+json"),
        Problems,
    )
)]
pub(crate) async fn resume(
    State(api): State<Api>,
    caller: Caller<Manage>,
    Id(id): Id<WebhookId>,
) -> Result<Json<WebhookView>, Problem> {
    let webhook = api.gateway.manage.resume(caller.tenant(), id).await?;
    shown(&api, webhook).await
}

/// Send a test event to a webhook, whatever it subscribes to
#[utoipa::path(
    post, path = "/v1/webhooks/{id}/test", operation_id = "test_webhook", tag = "webhooks", security(("token" = ["manage"])),
    params(("id" = String, Path, description = "`wh_…`")),
    responses(
        (status = 202, description = "Stored, as any other event.", body = EventAnswer),
        (status = 404, description = "There is none with this id.", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "The webhook is disabled.", body = ProblemBody, content_type = "application/problem+json"),
        Problems,
    )
)]
pub(crate) async fn test(
    State(api): State<Api>,
    caller: Caller<Manage>,
    Id(id): Id<WebhookId>,
) -> Result<EventAnswer, Problem> {
    let sent = send_test(&api, caller.tenant(), id).await?;
    Ok(sent.into())
}

/// Publishes an event of the gateway's own for one webhook.
pub(crate) async fn send_test(
    api: &Api,
    tenant: &TenantId,
    id: WebhookId,
) -> Result<Published, GatewayError> {
    // Asked for by its path: unknown is answered as for every other path.
    api.gateway.manage.get(tenant, id).await?;
    let draft = EventDraft {
        event_type: test_event::TYPE.to_owned(),
        body: test_event::body(id, api.gateway.ports.clock.now()),
        content_type: test_event::CONTENT_TYPE.to_owned(),
        session_id: None,
        webhook_id: Some(id.to_string()),
        origin: Origin::Test,
    };
    api.gateway.ingest.publish(tenant, draft, None).await
}
