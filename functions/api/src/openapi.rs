//! The OpenAPI document, generated from the code.

mod relations;

use std::sync::LazyLock;

use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{IntoResponses, Modify, OpenApi};

use crate::endpoints;
use crate::problem::ProblemBody;

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
        (name = "webhooks", description = "Destinations of events."),
        (name = "sources", description = "Inbound senders, and where their events go."),
        (name = "deliveries", description = "What happened to each event, and retries."),
        (name = "stats", description = "Key stats and metrics."),
        (name = "keys", description = "API keys."),
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

/// The problems of every operation under `/v1`.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "describes responses of other types")]
pub(crate) enum Problems {
    /// The input is invalid; `errors` names the fields.
    #[response(status = 400, content_type = "application/problem+json")]
    Invalid(ProblemBody),
    /// The token is missing, unknown or revoked.
    #[response(status = 401, content_type = "application/problem+json")]
    Unauthenticated(ProblemBody),
    /// The key lacks the scope.
    #[response(status = 403, content_type = "application/problem+json")]
    Forbidden(ProblemBody),
    /// The path does not support this method; `Allow` lists those it does.
    #[response(status = 405, content_type = "application/problem+json")]
    MethodNotAllowed(ProblemBody),
    /// An internal error; the log of the gateway has the details.
    #[response(status = 500, content_type = "application/problem+json")]
    Internal(ProblemBody),
    /// The store cannot be reached right now; `Retry-After` says when to try again.
    #[response(status = 503, content_type = "application/problem+json")]
    Unavailable(ProblemBody),
}

/// The problem of an operation on an object that its path names.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "describes responses of other types")]
pub(crate) enum NotFound {
    /// No object has this id.
    #[response(status = 404, content_type = "application/problem+json")]
    NotFound(ProblemBody),
}

/// The additional problems of an operation with a body.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "describes responses of other types")]
pub(crate) enum DocumentProblems {
    /// The body did not arrive in time.
    #[response(status = 408, content_type = "application/problem+json")]
    Timeout(ProblemBody),
    /// The body is too large; the detail names the limit.
    #[response(status = 413, content_type = "application/problem+json")]
    TooLarge(ProblemBody),
    /// The body is not JSON.
    #[response(status = 415, content_type = "application/problem+json")]
    Unsupported(ProblemBody),
}

pub(crate) use relations::state_relations;

static SERVED: LazyLock<Bytes> = LazyLock::new(|| {
    let written = serde_json::to_vec(&endpoints::document());
    written.unwrap_or_default().into()
});

/// Get this document
#[utoipa::path(get, path = "/openapi.json", operation_id = "get_openapi", tag = "gateway", security(()), responses(
    (status = 200, description = "OpenAPI 3.1", body = Object, content_type = "application/json"),
))]
pub(crate) async fn openapi_json() -> Response {
    let kind = [(header::CONTENT_TYPE, "application/json")];
    (kind, Bytes::clone(&SERVED)).into_response()
}
