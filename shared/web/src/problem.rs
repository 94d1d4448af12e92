//! Errors as RFC 9457 problems with a stable code. The only place that maps gateway errors to responses.

use std::borrow::Cow;

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use postrider_api_types::problem::InvalidField;
use postrider_domain::invalid::{FieldError, Invalid};
use postrider_domain::json_schema::PayloadFault;
use postrider_domain::route::Unroutable;
use postrider_gateway::GatewayError;
use postrider_gateway::error::{Conflict, Limited};

pub use postrider_api_types::problem::{Code, ProblemBody};

/// The page that explains the codes; the code is appended.
const PAGE: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/problems.md#");
/// The `Retry-After` of a 429 or 503.
const RETRY_AFTER_SECONDS: &str = "2";
const MAX_ERRORS: usize = 100;
/// The maximum length of a text that may repeat a caller's input.
const MAX_TEXT_BYTES: usize = 500;

#[derive(Clone, Debug)]
pub struct Problem {
    code: Code,
    detail: Cow<'static, str>,
    errors: Vec<FieldError>,
}

impl Problem {
    pub fn new(code: Code, detail: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            detail: detail.into(),
            errors: Vec::new(),
        }
    }

    /// A body or payload over a limit, which the detail names.
    #[must_use]
    pub fn too_large(what: &str, limit: usize) -> Self {
        let detail = format!("the {what} is larger than the limit of {limit} bytes");
        Self::new(Code::PayloadTooLarge, detail)
    }

    /// No object has this id, or it belongs to another tenant: the response is the same.
    #[must_use]
    pub fn not_found(what: &'static str) -> Self {
        GatewayError::NotFound { what }.into()
    }

    #[must_use]
    pub const fn code(&self) -> Code {
        self.code
    }

    #[must_use]
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// The invalid fields.
    #[must_use]
    pub fn errors(&self) -> &[FieldError] {
        &self.errors
    }

    fn with_error(mut self, field: &str, message: &str) -> Self {
        self.errors.push(FieldError {
            field: field.to_owned(),
            pointer: None,
            message: message.to_owned(),
        });
        self
    }

    #[must_use]
    pub fn body(&self) -> ProblemBody {
        ProblemBody {
            kind: format!("{PAGE}{}", self.code.as_str()),
            title: Some(self.code.title().to_owned()),
            status: self.code.status().as_u16(),
            detail: Some(self.detail.clone().into_owned()),
            code: Some(self.code.into()),
            errors: self.errors.iter().map(invalid_field).collect(),
        }
    }
}

fn invalid_field(error: &FieldError) -> InvalidField {
    InvalidField {
        field: cut(&error.field).to_owned(),
        pointer: error.pointer.as_deref().map(|it| cut(it).to_owned()),
        message: cut(&error.message).to_owned(),
    }
}

/// Bounds how much of a caller's input a response repeats.
fn cut(text: &str) -> &str {
    text.get(..text.floor_char_boundary(MAX_TEXT_BYTES))
        .unwrap_or_default()
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.code.status(), axum::Json(self.body())).into_response();
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        match self.code.status() {
            StatusCode::UNAUTHORIZED => {
                let challenge = if self.code == Code::InvalidSignature {
                    "Signature realm=\"postrider\""
                } else {
                    "Bearer realm=\"postrider\""
                };
                headers.insert(
                    header::WWW_AUTHENTICATE,
                    HeaderValue::from_static(challenge),
                );
            }
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                let seconds = HeaderValue::from_static(RETRY_AFTER_SECONDS);
                headers.insert(header::RETRY_AFTER, seconds);
            }
            _ => {}
        }
        response
    }
}

impl From<Invalid> for Problem {
    fn from(invalid: Invalid) -> Self {
        let detail = cut(&invalid.to_string()).to_owned();
        let mut errors = invalid.into_fields();
        errors.truncate(MAX_ERRORS);
        Self {
            code: Code::InvalidRequest,
            detail: detail.into(),
            errors,
        }
    }
}

impl From<GatewayError> for Problem {
    fn from(error: GatewayError) -> Self {
        let detail = error.to_string();
        match error {
            GatewayError::Invalid(invalid) => invalid.into(),
            GatewayError::TooLarge { limit } => Self::too_large("payload", limit),
            GatewayError::SchemaMismatch(faults) => {
                let error = |fault: PayloadFault| FieldError {
                    field: "payload".to_owned(),
                    pointer: Some(fault.pointer),
                    message: fault.message,
                };
                Self {
                    errors: faults.into_iter().map(error).collect(),
                    ..Self::new(Code::SchemaMismatch, cut(&detail).to_owned())
                }
            }
            GatewayError::Unverified => Self::new(Code::InvalidSignature, detail),
            GatewayError::KeyReused => Self::new(Code::IdempotencyKeyReused, detail)
                .with_error("Idempotency-Key", "was already used for another request"),
            GatewayError::Unroutable(reason) => {
                let code = match reason {
                    Unroutable::Unknown => Code::NotFound,
                    Unroutable::Disabled => Code::WebhookDisabled,
                };
                Self::new(code, detail.clone()).with_error("webhook_id", &detail)
            }
            GatewayError::NotFound { .. } => Self::new(Code::NotFound, detail),
            GatewayError::Conflict(conflict) => Self::new(conflict_code(conflict), detail),
            GatewayError::Unrendered(_) => Self::new(Code::TemplateError, detail),
            GatewayError::TooMany { .. } => Self::new(Code::LimitReached, detail),
            GatewayError::Limited(limited) => {
                let code = match limited {
                    Limited::Webhooks { .. } => Code::LimitReached,
                    Limited::PublishRate { .. } => Code::RateLimited,
                    Limited::BodyBytes { .. } => Code::PayloadTooLarge,
                };
                Self::new(code, detail.clone()).with_error(limited.field(), &detail)
            }
            GatewayError::TooManyShadows { .. } => Self::new(Code::TooManyShadows, detail),
            GatewayError::Store(error) => error.into(),
        }
    }
}

impl From<postrider_ports::Error> for Problem {
    fn from(error: postrider_ports::Error) -> Self {
        match error {
            postrider_ports::Error::Unavailable(_) => {
                tracing::warn!(event = "api.store_unavailable", %error, "answered 503: the store is unavailable");
                let detail = "the store cannot be reached; try again in a moment";
                Self::new(Code::Unavailable, detail)
            }
            postrider_ports::Error::InvalidCursor => Invalid::field(
                "cursor",
                "must be a `next_cursor` of this list with the same filter",
            )
            .into(),
            postrider_ports::Error::Broken(_) => {
                tracing::error!(event = "api.store_broken", %error, "answered 500: stored data cannot be read");
                let detail = "an internal error occurred; see the gateway's log";
                Self::new(Code::Internal, detail)
            }
        }
    }
}

const fn conflict_code(conflict: Conflict) -> Code {
    match conflict {
        Conflict::InFlight => Code::DeliveryInFlight,
        Conflict::Delivered => Code::DeliveryDelivered,
        Conflict::Pending => Code::DeliveryPending,
        Conflict::Exists => Code::DeliveryExists,
        Conflict::WebhookDisabled => Code::WebhookDisabled,
        Conflict::WebhookDeleted => Code::WebhookDeleted,
        Conflict::PayloadGone => Code::PayloadGone,
        Conflict::ChangedMeanwhile => Code::ChangedMeanwhile,
        Conflict::TenantExists => Code::TenantExists,
        Conflict::TenantDeleted => Code::TenantDeleted,
        Conflict::DefaultTenant => Code::DefaultTenant,
        Conflict::TooManySecrets(_) => Code::TooManySecrets,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn internal_details_are_not_exposed() {
        let broken = GatewayError::Store(postrider_ports::Error::Broken("row 7 of canary".into()));
        let problem = Problem::from(broken);
        assert_eq!(problem.code(), Code::Internal);
        let shown = serde_json::to_string(&problem.body()).unwrap();
        assert!(!shown.contains("canary"), "{shown}");
        let away = GatewayError::Store(postrider_ports::Error::Unavailable("canary".into()));
        let response = Problem::from(away.clone()).into_response();
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(response.headers()[header::RETRY_AFTER], RETRY_AFTER_SECONDS);
        let shown = serde_json::to_string(&Problem::from(away).body()).unwrap();
        assert!(!shown.contains("canary"), "{shown}");
    }

    #[test]
    fn every_conflict_has_its_code() {
        use postrider_domain::secret::TooManySecrets;
        for (conflict, code) in [
            (Conflict::InFlight, "delivery_in_flight"),
            (Conflict::Delivered, "delivery_delivered"),
            (Conflict::Pending, "delivery_pending"),
            (Conflict::Exists, "delivery_exists"),
            (Conflict::WebhookDisabled, "webhook_disabled"),
            (Conflict::WebhookDeleted, "webhook_deleted"),
            (Conflict::PayloadGone, "payload_gone"),
            (Conflict::ChangedMeanwhile, "changed_meanwhile"),
            (Conflict::TenantExists, "tenant_exists"),
            (Conflict::TenantDeleted, "tenant_deleted"),
            (Conflict::DefaultTenant, "default_tenant"),
            (
                Conflict::TooManySecrets(TooManySecrets { limit: 5 }),
                "too_many_secrets",
            ),
        ] {
            let problem = Problem::from(GatewayError::from(conflict));
            assert_eq!(problem.code().as_str(), code);
            assert_eq!(problem.code().status(), StatusCode::CONFLICT);
        }
    }

    #[test]
    fn a_response_repeats_only_a_bounded_part_of_the_input() {
        let mut faults = Invalid::default();
        for _ in 0..1000 {
            faults.add("ä".repeat(100_000), "is unknown");
        }
        let body = Problem::from(faults).body();
        assert_eq!(body.errors.len(), MAX_ERRORS);
        assert!(body.detail.unwrap().len() <= MAX_TEXT_BYTES);
        assert!(
            body.errors
                .iter()
                .all(|fault| fault.field.len() <= MAX_TEXT_BYTES)
        );
    }
}
