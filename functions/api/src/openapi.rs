//! The OpenAPI document, generated from the code.

mod problems;
mod relations;

pub(crate) use problems::{
    ChangeProblems, CreateProblems, DocumentProblems, ItemProblems, Problems, RotateProblems,
    TenantProblems,
};
pub(crate) use relations::state_relations;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{Modify, OpenApi};

use crate::{Api, endpoints};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Postrider",
        description = "Delivers signed webhooks and shows what happened to each. Every error is an RFC 9457 problem.",
        license(name = "Apache-2.0", identifier = "Apache-2.0")
    ),
    modifiers(&BearerToken),
    tags(
        (name = "events", description = "Publish events."),
        (name = "event types", description = "The catalogue: what each event type means."),
        (name = "webhooks", description = "Destinations of events."),
        (name = "sources", description = "Inbound senders, and where their events go."),
        (name = "deliveries", description = "What happened to each event, and retries."),
        (name = "erasures", description = "Erase what was published."),
        (name = "stats", description = "Key stats and metrics."),
        (name = "keys", description = "API keys."),
        (name = "tenants", description = "Tenants and their limits. Needs a key of the tenant `default`."),
        (name = "portal", description = "Pages for customers."),
        (name = "transfer", description = "Move data between gateways."),
        (name = "gateway", description = "The gateway itself."),
    )
)]
pub(crate) struct Document;

struct BearerToken;

impl Modify for BearerToken {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let scheme = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some("A key, created by `POST /v1/keys`."))
            .build();
        document
            .components
            .get_or_insert_default()
            .add_security_scheme("token", SecurityScheme::Http(scheme));
    }
}

/// Get this document
#[utoipa::path(get, path = "/openapi.json", operation_id = "get_openapi", tag = "gateway", security(()), responses(
    (status = 200, description = "OpenAPI 3.1", body = Object, content_type = "application/json"),
))]
pub(crate) async fn openapi_json(State(api): State<Api>) -> Response {
    let fastest = api.gateway.manage.fastest_max_rate();
    let document = api.document.get_or_init(|| written(fastest));
    let kind = [(header::CONTENT_TYPE, "application/json")];
    (kind, Bytes::clone(document)).into_response()
}

fn written(fastest_max_rate: u32) -> Bytes {
    let mut document = serde_json::to_value(endpoints::document()).unwrap_or_default();
    // The code states the fastest rate of any gateway, the document that of this one.
    if let Some(maximum) = document.pointer_mut("/components/schemas/MaxRate/maximum") {
        *maximum = fastest_max_rate.into();
    }
    document.to_string().into()
}
