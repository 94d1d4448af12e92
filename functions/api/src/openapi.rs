//! The description of the API, made from the code.

use std::sync::LazyLock;

use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header;
use utoipa::openapi::schema::{Object, ObjectBuilder, SchemaType, Type};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{IntoResponses, Modify, OpenApi};

use crate::endpoints;
use crate::problem::ProblemBody;
pub(crate) use postrider_web::words;

/// What stands around the paths.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Postrider",
        description = "Sends signed webhooks and shows what happened to each. Every error is an RFC 9457 problem.",
        license(name = "Apache-2.0", identifier = "Apache-2.0")
    ),
    modifiers(&BearerToken),
    tags(
        (name = "events", description = "Publishing."),
        (name = "webhooks", description = "Where events go."),
        (name = "sources", description = "Where events come from, and where those go."),
        (name = "deliveries", description = "What happened to each, and putting it back."),
        (name = "stats", description = "How the webhooks did."),
        (name = "keys", description = "Who may do what."),
        (name = "gateway", description = "The gateway itself."),
    )
)]
pub(crate) struct Document;

struct BearerToken;

impl Modify for BearerToken {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let scheme = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some("A key, made by `POST /v1/keys`."))
            .build();
        document
            .components
            .get_or_insert_default()
            .add_security_scheme("token", SecurityScheme::Http(scheme));
    }
}

/// What every call under `/v1` may be answered with.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "describes answers that other types give")]
pub(crate) enum Problems {
    /// Something about the input does not fit; `errors` says what.
    #[response(status = 400, content_type = "application/problem+json")]
    Invalid(ProblemBody),
    /// The token is missing, unknown or revoked.
    #[response(status = 401, content_type = "application/problem+json")]
    Unauthenticated(ProblemBody),
    /// The key may not do this.
    #[response(status = 403, content_type = "application/problem+json")]
    Forbidden(ProblemBody),
    /// The gateway made a mistake.
    #[response(status = 500, content_type = "application/problem+json")]
    Internal(ProblemBody),
    /// The store cannot be reached right now; `Retry-After` says when to try again.
    #[response(status = 503, content_type = "application/problem+json")]
    Unavailable(ProblemBody),
}

/// What a call with a document may be answered with besides.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "describes answers that other types give")]
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

/// The document as it is served.
static SERVED: LazyLock<Bytes> = LazyLock::new(|| {
    let written = serde_json::to_vec(&endpoints::document());
    written.unwrap_or_default().into()
});

/// One of a few words, or `null`.
pub(crate) fn words_or_null<'a>(choices: impl IntoIterator<Item = &'a str>) -> Object {
    let mut object = words(choices);
    object.schema_type = SchemaType::from_iter([Type::String, Type::Null]);
    object
        .enum_values
        .get_or_insert_default()
        .push(serde_json::Value::Null);
    object
}

/// Any JSON.
pub(crate) fn any_json() -> Object {
    ObjectBuilder::new()
        .schema_type(SchemaType::AnyValue)
        .build()
}

/// This document
#[utoipa::path(get, path = "/openapi.json", operation_id = "get_openapi", tag = "gateway", security(()), responses(
    (status = 200, description = "OpenAPI 3.1", body = Object, content_type = "application/json"),
))]
pub(crate) async fn openapi_json() -> Response {
    let kind = [(header::CONTENT_TYPE, "application/json")];
    (kind, Bytes::clone(&SERVED)).into_response()
}
