//! The problems that operations of one kind share.

use std::collections::BTreeMap;

use utoipa::openapi::{ContentBuilder, Ref, RefOr, Response, ResponseBuilder};
use utoipa::{IntoResponses, ToSchema};

use crate::problem::ProblemBody;

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

/// The problem of an operation on something that its path names.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "describes responses of other types")]
enum NotFound {
    /// Nothing has this id.
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

/// The problems of reading or deleting something that its path names.
pub(crate) struct ItemProblems;

impl IntoResponses for ItemProblems {
    fn responses() -> Responses {
        all([NotFound::responses(), Problems::responses()])
    }
}

/// The problems of creating one of a limited number.
pub(crate) struct CreateProblems;

impl IntoResponses for CreateProblems {
    fn responses() -> Responses {
        let conflict = conflict("The tenant has the maximum number of them.");
        all([
            conflict,
            DocumentProblems::responses(),
            Problems::responses(),
        ])
    }
}

/// The problems of creating a tenant.
pub(crate) struct TenantProblems;

impl IntoResponses for TenantProblems {
    fn responses() -> Responses {
        all([
            conflict("A tenant with this id has been created before."),
            DocumentProblems::responses(),
            Problems::responses(),
        ])
    }
}

/// The problems of changing something that its path names.
pub(crate) struct ChangeProblems;

impl IntoResponses for ChangeProblems {
    fn responses() -> Responses {
        changed(conflict("Another request changed it at the same time."))
    }
}

/// The problems of rotating a secret.
pub(crate) struct RotateProblems;

impl IntoResponses for RotateProblems {
    fn responses() -> Responses {
        changed(conflict(
            "Too many secrets would be valid, or another request changed it at the same time.",
        ))
    }
}

type Responses = BTreeMap<String, RefOr<Response>>;

fn changed(conflict: Responses) -> Responses {
    all([
        conflict,
        DocumentProblems::responses(),
        ItemProblems::responses(),
    ])
}

fn all<const N: usize>(sets: [Responses; N]) -> Responses {
    sets.into_iter().flatten().collect()
}

fn conflict(description: &str) -> Responses {
    let body = Ref::from_schema_name(ProblemBody::name());
    let content = ContentBuilder::new().schema(Some(body)).build();
    let response = ResponseBuilder::new()
        .description(description)
        .content("application/problem+json", content)
        .build();
    BTreeMap::from([("409".to_owned(), response.into())])
}
