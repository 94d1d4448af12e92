//! The codes, their statuses and titles.

use http::StatusCode;

/// What went wrong, for programs. The names never change; `docs/problems.md` explains each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// Something about the input does not fit; `errors` says what.
    InvalidRequest,
    /// No token was sent.
    MissingToken,
    /// The token is not known, or no longer.
    InvalidToken,
    /// The request is not signed by a known source.
    InvalidSignature,
    /// The key may not do this.
    MissingScope,
    /// The key may not make keys for another tenant.
    ForeignTenant,
    /// Nothing has this id.
    NotFound,
    /// There is no such path.
    UnknownRoute,
    /// The path does not know this method.
    MethodNotAllowed,
    /// The body did not arrive in time.
    RequestTimeout,
    /// The key was used for another request.
    IdempotencyKeyReused,
    /// The delivery is being attempted.
    DeliveryInFlight,
    /// The delivery was delivered.
    DeliveryDelivered,
    /// The delivery is pending already.
    DeliveryPending,
    /// The webhook is disabled or deleted.
    WebhookDisabled,
    /// The delivery's webhook was deleted.
    WebhookDeleted,
    /// The delivery's payload is no longer kept.
    PayloadGone,
    /// Somebody else changed it at the same time.
    ChangedMeanwhile,
    /// Too many secrets would be valid at once.
    TooManySecrets,
    /// The tenant has as many as it may have.
    LimitReached,
    /// The body or the payload is too large.
    PayloadTooLarge,
    /// The body is not JSON by its `Content-Type`.
    UnsupportedMediaType,
    /// Too many streams are open.
    TooManyStreams,
    /// Too many deliveries are being sent to other URLs.
    TooManyShadows,
    /// We made a mistake.
    Internal,
    /// We cannot do our work right now.
    Unavailable,
}

impl Code {
    /// Every code.
    pub const ALL: [Self; 26] = [
        Self::InvalidRequest,
        Self::MissingToken,
        Self::InvalidToken,
        Self::InvalidSignature,
        Self::MissingScope,
        Self::ForeignTenant,
        Self::NotFound,
        Self::UnknownRoute,
        Self::MethodNotAllowed,
        Self::RequestTimeout,
        Self::IdempotencyKeyReused,
        Self::DeliveryInFlight,
        Self::DeliveryDelivered,
        Self::DeliveryPending,
        Self::WebhookDisabled,
        Self::WebhookDeleted,
        Self::PayloadGone,
        Self::ChangedMeanwhile,
        Self::TooManySecrets,
        Self::LimitReached,
        Self::PayloadTooLarge,
        Self::UnsupportedMediaType,
        Self::TooManyStreams,
        Self::TooManyShadows,
        Self::Internal,
        Self::Unavailable,
    ];

    /// The name in the field `code`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.entry().1
    }

    /// The status it is answered with.
    #[must_use]
    pub const fn status(self) -> StatusCode {
        self.entry().0
    }

    /// The same for every problem of this code.
    #[must_use]
    pub const fn title(self) -> &'static str {
        self.entry().2
    }

    const fn entry(self) -> (StatusCode, &'static str, &'static str) {
        use StatusCode as S;
        match self {
            Self::InvalidRequest => (
                S::BAD_REQUEST,
                "invalid_request",
                "The request is not valid",
            ),
            Self::MissingToken => (S::UNAUTHORIZED, "missing_token", "A token is needed"),
            Self::InvalidToken => (S::UNAUTHORIZED, "invalid_token", "The token is not valid"),
            Self::InvalidSignature => (
                S::UNAUTHORIZED,
                "invalid_signature",
                "The request is not signed by a known source",
            ),
            Self::MissingScope => (S::FORBIDDEN, "missing_scope", "The key may not do this"),
            Self::ForeignTenant => (
                S::FORBIDDEN,
                "foreign_tenant",
                "The key may not act for this tenant",
            ),
            Self::NotFound => (S::NOT_FOUND, "not_found", "Nothing has this id"),
            Self::UnknownRoute => (S::NOT_FOUND, "unknown_route", "There is no such path"),
            Self::MethodNotAllowed => (
                S::METHOD_NOT_ALLOWED,
                "method_not_allowed",
                "The path does not know this method",
            ),
            Self::RequestTimeout => (
                S::REQUEST_TIMEOUT,
                "request_timeout",
                "The body did not arrive in time",
            ),
            Self::IdempotencyKeyReused => (
                S::CONFLICT,
                "idempotency_key_reused",
                "The key was used for another request",
            ),
            Self::DeliveryInFlight => (
                S::CONFLICT,
                "delivery_in_flight",
                "The delivery is being attempted",
            ),
            Self::DeliveryDelivered => (
                S::CONFLICT,
                "delivery_delivered",
                "The delivery was delivered",
            ),
            Self::DeliveryPending => (
                S::CONFLICT,
                "delivery_pending",
                "The delivery is pending already",
            ),
            Self::WebhookDisabled => (
                S::CONFLICT,
                "webhook_disabled",
                "The webhook takes no deliveries",
            ),
            Self::WebhookDeleted => (
                S::CONFLICT,
                "webhook_deleted",
                "The delivery's webhook was deleted",
            ),
            Self::PayloadGone => (S::CONFLICT, "payload_gone", "The payload is no longer kept"),
            Self::ChangedMeanwhile => (
                S::CONFLICT,
                "changed_meanwhile",
                "Somebody else changed it at the same time",
            ),
            Self::TooManySecrets => (
                S::CONFLICT,
                "too_many_secrets",
                "Too many secrets would be valid",
            ),
            Self::LimitReached => (S::CONFLICT, "limit_reached", "There are as many as allowed"),
            Self::PayloadTooLarge => (
                S::PAYLOAD_TOO_LARGE,
                "payload_too_large",
                "The body is too large",
            ),
            Self::UnsupportedMediaType => (
                S::UNSUPPORTED_MEDIA_TYPE,
                "unsupported_media_type",
                "The body must be JSON",
            ),
            Self::TooManyStreams => (
                S::TOO_MANY_REQUESTS,
                "too_many_streams",
                "Too many streams are open",
            ),
            Self::TooManyShadows => (
                S::TOO_MANY_REQUESTS,
                "too_many_shadows",
                "Too many deliveries are being sent to other URLs",
            ),
            Self::Internal => (
                S::INTERNAL_SERVER_ERROR,
                "internal",
                "The gateway made a mistake",
            ),
            Self::Unavailable => (
                S::SERVICE_UNAVAILABLE,
                "unavailable",
                "The gateway cannot do this right now",
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
                assert!(text.contains("\nWhat to do: "), "{code} says what to do");
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
