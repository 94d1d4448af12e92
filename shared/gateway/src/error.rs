//! The errors of the use cases.

use postrider_domain::invalid::Invalid;
use postrider_domain::route::Unroutable;

/// Why a use case failed. Nothing was changed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum GatewayError {
    #[error("{0}")]
    Invalid(#[from] Invalid),
    #[error("the payload is larger than {limit} bytes")]
    TooLarge { limit: usize },
    /// The signature of an inbound request is not valid. The same for every reason, and for a source that does not exist.
    #[error("the request is not signed by a source of this gateway")]
    Unverified,
    #[error("this Idempotency-Key was already used for a different request")]
    KeyReused,
    #[error("{0}")]
    Unroutable(#[from] Unroutable),
    /// Also when the id belongs to another tenant.
    #[error("there is no {what} with this id")]
    NotFound { what: &'static str },
    #[error("{0}")]
    Conflict(Conflict),
    /// The tenant has reached the limit.
    #[error("at most {limit} {what} are allowed")]
    TooMany { limit: usize, what: &'static str },
    #[error("at most {limit} shadow requests can run at the same time; try again in a moment")]
    TooManyShadows { limit: usize },
    /// The gateway failed, not the caller.
    #[error("{0}")]
    Store(#[from] postrider_ports::Error),
}

/// Why the current state does not allow the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Conflict {
    #[error("the delivery is being attempted right now; try again when the attempt has finished")]
    InFlight,
    #[error("the delivery was delivered; pass \"force\": true to send it again")]
    Delivered,
    #[error("the delivery is already pending")]
    Pending,
    #[error("the webhook is disabled or deleted; if it is disabled, resume it first")]
    WebhookDisabled,
    #[error(
        "the webhook of this delivery was deleted, along with the secrets that sign the request"
    )]
    WebhookDeleted,
    #[error("the payload of this delivery is no longer stored")]
    PayloadGone,
    #[error("another request changed it at the same time; read it again and repeat the change")]
    ChangedMeanwhile,
    #[error("{0}")]
    TooManySecrets(postrider_domain::secret::TooManySecrets),
}

impl From<Conflict> for GatewayError {
    fn from(conflict: Conflict) -> Self {
        Self::Conflict(conflict)
    }
}
