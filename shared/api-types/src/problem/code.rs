//! The codes, their statuses and titles.

use http::StatusCode;

/// The machine-readable cause of a problem. The names never change; `docs/problems.md` explains each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    InvalidRequest,
    /// The payload does not match the schema of its event type.
    SchemaMismatch,
    MissingToken,
    InvalidToken,
    InvalidSignature,
    MissingScope,
    /// The key may not create keys for another tenant.
    ForeignTenant,
    NotFound,
    /// The content of the event was erased.
    Erased,
    UnknownRoute,
    MethodNotAllowed,
    /// The body did not arrive in time.
    RequestTimeout,
    IdempotencyKeyReused,
    DeliveryInFlight,
    DeliveryDelivered,
    DeliveryPending,
    /// The event has a delivery to this webhook.
    DeliveryExists,
    /// The webhook is disabled or deleted.
    WebhookDisabled,
    WebhookDeleted,
    /// The payload's retention period has ended.
    PayloadGone,
    /// The webhook's template cannot be rendered for the event.
    TemplateError,
    ChangedMeanwhile,
    TenantExists,
    /// The tenant is being deleted.
    TenantDeleted,
    /// The operator's own tenant cannot be deleted.
    DefaultTenant,
    TooManySecrets,
    /// The tenant has reached a limit.
    LimitReached,
    PayloadTooLarge,
    UnsupportedMediaType,
    /// The tenant publishes faster than its limit.
    RateLimited,
    TooManyStreams,
    TooManyShadows,
    Internal,
    Unavailable,
}

impl Code {
    pub const ALL: [Self; 34] = [
        Self::InvalidRequest,
        Self::SchemaMismatch,
        Self::MissingToken,
        Self::InvalidToken,
        Self::InvalidSignature,
        Self::MissingScope,
        Self::ForeignTenant,
        Self::NotFound,
        Self::Erased,
        Self::UnknownRoute,
        Self::MethodNotAllowed,
        Self::RequestTimeout,
        Self::IdempotencyKeyReused,
        Self::DeliveryInFlight,
        Self::DeliveryDelivered,
        Self::DeliveryPending,
        Self::DeliveryExists,
        Self::WebhookDisabled,
        Self::WebhookDeleted,
        Self::PayloadGone,
        Self::TemplateError,
        Self::ChangedMeanwhile,
        Self::TenantExists,
        Self::TenantDeleted,
        Self::DefaultTenant,
        Self::TooManySecrets,
        Self::LimitReached,
        Self::PayloadTooLarge,
        Self::UnsupportedMediaType,
        Self::RateLimited,
        Self::TooManyStreams,
        Self::TooManyShadows,
        Self::Internal,
        Self::Unavailable,
    ];

    /// The value of the field `code`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.entry().1
    }

    #[must_use]
    pub const fn status(self) -> StatusCode {
        self.entry().0
    }

    /// The same for every problem with this code.
    #[must_use]
    pub const fn title(self) -> &'static str {
        self.entry().2
    }

    const fn entry(self) -> (StatusCode, &'static str, &'static str) {
        use StatusCode as S;
        match self {
            Self::InvalidRequest => (S::BAD_REQUEST, "invalid_request", "Invalid request"),
            Self::MissingToken => (S::UNAUTHORIZED, "missing_token", "Authentication required"),
            Self::InvalidToken => (S::UNAUTHORIZED, "invalid_token", "Invalid token"),
            Self::InvalidSignature => (S::UNAUTHORIZED, "invalid_signature", "Invalid signature"),
            Self::MissingScope => (S::FORBIDDEN, "missing_scope", "Missing scope"),
            Self::ForeignTenant => (
                S::FORBIDDEN,
                "foreign_tenant",
                "Not allowed for this tenant",
            ),
            Self::NotFound => (S::NOT_FOUND, "not_found", "Not found"),
            Self::Erased => (S::GONE, "erased", "Erased"),
            Self::UnknownRoute => (S::NOT_FOUND, "unknown_route", "Unknown path"),
            Self::MethodNotAllowed => (
                S::METHOD_NOT_ALLOWED,
                "method_not_allowed",
                "Method not allowed",
            ),
            Self::RequestTimeout => (S::REQUEST_TIMEOUT, "request_timeout", "Request timeout"),
            Self::IdempotencyKeyReused => (
                S::CONFLICT,
                "idempotency_key_reused",
                "Idempotency key already used",
            ),
            Self::DeliveryInFlight => (S::CONFLICT, "delivery_in_flight", "Delivery in flight"),
            Self::DeliveryDelivered => (S::CONFLICT, "delivery_delivered", "Already delivered"),
            Self::DeliveryPending => (S::CONFLICT, "delivery_pending", "Already pending"),
            Self::DeliveryExists => (S::CONFLICT, "delivery_exists", "Delivery exists"),
            Self::WebhookDisabled => (S::CONFLICT, "webhook_disabled", "Webhook disabled"),
            Self::WebhookDeleted => (S::CONFLICT, "webhook_deleted", "Webhook deleted"),
            Self::PayloadGone => (S::CONFLICT, "payload_gone", "Payload no longer stored"),
            Self::TemplateError => (S::CONFLICT, "template_error", "Template error"),
            Self::SchemaMismatch => (
                S::BAD_REQUEST,
                "schema_mismatch",
                "Payload does not match its schema",
            ),
            Self::ChangedMeanwhile => (
                S::CONFLICT,
                "changed_meanwhile",
                "Changed by another request",
            ),
            Self::TenantExists => (S::CONFLICT, "tenant_exists", "Tenant already exists"),
            Self::TenantDeleted => (S::CONFLICT, "tenant_deleted", "Tenant is being deleted"),
            Self::DefaultTenant => (S::CONFLICT, "default_tenant", "Tenant cannot be deleted"),
            Self::TooManySecrets => (S::CONFLICT, "too_many_secrets", "Too many valid secrets"),
            Self::LimitReached => (S::CONFLICT, "limit_reached", "Limit reached"),
            Self::PayloadTooLarge => (
                S::PAYLOAD_TOO_LARGE,
                "payload_too_large",
                "Payload too large",
            ),
            Self::UnsupportedMediaType => (
                S::UNSUPPORTED_MEDIA_TYPE,
                "unsupported_media_type",
                "Unsupported media type",
            ),
            Self::RateLimited => (S::TOO_MANY_REQUESTS, "rate_limited", "Rate limit exceeded"),
            Self::TooManyStreams => (
                S::TOO_MANY_REQUESTS,
                "too_many_streams",
                "Too many open streams",
            ),
            Self::TooManyShadows => (
                S::TOO_MANY_REQUESTS,
                "too_many_shadows",
                "Too many shadow requests",
            ),
            Self::Internal => (S::INTERNAL_SERVER_ERROR, "internal", "Internal error"),
            Self::Unavailable => (
                S::SERVICE_UNAVAILABLE,
                "unavailable",
                "Temporarily unavailable",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = include_str!("../../../../docs/problems.md");

    #[test]
    fn the_page_explains_every_code_and_no_other() {
        let explained: Vec<_> = DOCUMENT
            .split("\n## ")
            .skip(1)
            .map(|section| {
                let (code, text) = section.split_once("\n\nStatus ").expect(section);
                assert!(text.contains("\nWhat to do: "), "{code} has advice");
                (code, text.split_once('.').expect(section).0)
            })
            .collect();
        let codes: Vec<_> = Code::ALL
            .iter()
            .map(|code| (code.as_str(), code.status().as_str().to_owned()))
            .collect();
        let codes: Vec<_> = codes.iter().map(|(c, s)| (*c, s.as_str())).collect();
        assert_eq!(explained, codes);
    }

    #[test]
    fn every_code_is_listed_once() {
        let mut names = Code::ALL.map(Code::as_str);
        names.sort_unstable();
        assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
    }
}
