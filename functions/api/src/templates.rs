//! Testing templates before they are saved, and the presets to start from.

use axum::Json;
use axum::extract::State;
use bytes::Bytes;
use postrider_api_types::template::{PresetListView, RenderedView, TemplateTest};
use postrider_domain::ids::EventId;
use postrider_domain::invalid::Invalid;
use postrider_domain::template::TemplateDraft;
use postrider_gateway::template_preview::{try_on_event, try_on_payload, webhook_facts};

use crate::Api;
use crate::auth::{Caller, Read};
use crate::extract::Document;
use crate::openapi::{DocumentProblems, ItemProblems, Problems};
use crate::problem::Problem;

/// Test a template
///
/// Renders the template for a payload or for a stored event. Nothing is stored or sent. If the template cannot be rendered, the
/// problem names its line.
#[utoipa::path(
    post, path = "/v1/templates/test", operation_id = "test_template", tag = "webhooks", security(("token" = ["read"])),
    request_body = TemplateTest,
    responses(
        (status = 200, description = "What would be sent.", body = RenderedView),
        DocumentProblems,
        ItemProblems,
    )
)]
pub(crate) async fn test(
    State(api): State<Api>,
    caller: Caller<Read>,
    Document(given): Document<TemplateTest>,
) -> Result<Json<RenderedView>, Problem> {
    let template = TemplateDraft::from(given.template).check("template")?;
    let rendered = match (given.payload, given.event_id) {
        (Some(payload), None) => {
            let payload = Bytes::from(payload.to_string());
            try_on_payload(&template, &payload, api.gateway.ports.clock.now())
        }
        (None, Some(id)) => {
            let id: EventId = id
                .parse()
                .map_err(|_| Invalid::field("event_id", "must be the id of an event, evt_…"))?;
            let event = api.gateway.ports.store.event(caller.tenant(), id).await?;
            let event = event.ok_or_else(|| Problem::not_found("event"))?;
            try_on_event(&template, &event, webhook_facts(None))
        }
        (Some(_), Some(_)) => {
            let message = "set either `payload` or `event_id`, not both";
            return Err(Invalid::field("event_id", message).into());
        }
        (None, None) => {
            let message = "is missing; set `payload` or `event_id`";
            return Err(Invalid::field("payload", message).into());
        }
    };
    let rendered = rendered.map_err(|error| error.into_invalid("template"))?;
    Ok(Json(rendered.into()))
}

/// List the presets
///
/// Templates to copy into a webhook, for products that expect their own format.
#[utoipa::path(
    get, path = "/v1/templates/presets", operation_id = "list_template_presets", tag = "webhooks", security(("token" = ["read"])),
    responses((status = 200, description = "The presets.", body = PresetListView), Problems)
)]
pub(crate) async fn presets(_: Caller<Read>) -> Json<PresetListView> {
    Json(PresetListView::all())
}
