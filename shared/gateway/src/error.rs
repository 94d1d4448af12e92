//! Why a use-case did not do what was asked.

use postrider_domain::invalid::Invalid;
use postrider_domain::route::Unroutable;

/// Why nothing was done. Nothing has changed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum GatewayError {
    /// The input has faults.
    #[error("{0}")]
    Invalid(#[from] Invalid),
    /// The body is larger than may be stored.
    #[error("the payload is larger than {limit} bytes")]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// The sender did not prove who it is. The same for every reason, and for a source that does not exist.
    #[error("the request is not signed by a source of this gateway")]
    Unverified,
    /// The key was used for another request.
    #[error("this Idempotency-Key was used for another request")]
    KeyReused,
    /// The named webhook cannot be delivered to.
    #[error("{0}")]
    Unroutable(#[from] Unroutable),
    /// There is nothing with this id, or it belongs to somebody else.
    #[error("there is no {what} with this id")]
    NotFound {
        /// What was looked for.
        what: &'static str,
    },
    /// It cannot be done in the present state.
    #[error("{0}")]
    Conflict(Conflict),
    /// The tenant has as many as it may have.
    #[error("at most {limit} {what} are allowed")]
    TooMany {
        /// The limit.
        limit: usize,
        /// Of what.
        what: &'static str,
    },
    /// As many shadows are under way as may be.
    #[error(
        "{limit} deliveries are being sent to other URLs right now, which is the most at once; try again in a moment"
    )]
    TooManyShadows {
        /// The limit.
        limit: usize,
    },
    /// We could not do our work.
    #[error("{0}")]
    Store(#[from] postrider_ports::Error),
}

/// What stands in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Conflict {
    /// An attempt is under way.
    #[error("the delivery is being attempted right now; try again when the attempt has ended")]
    InFlight,
    /// It arrived.
    #[error("the delivery was delivered; pass \"force\": true to send it again")]
    Delivered,
    /// It has not been attempted yet.
    #[error("the delivery is pending already")]
    Pending,
    /// Its webhook wants no more.
    #[error("the webhook is disabled or deleted; resume it first")]
    WebhookDisabled,
    /// Its webhook is gone, and with it what would sign.
    #[error(
        "the webhook of this delivery was deleted, and with it the secrets that would sign the request"
    )]
    WebhookDeleted,
    /// The event is no longer kept.
    #[error("the payload of this delivery is no longer kept")]
    PayloadGone,
    /// Somebody else changed it at the same time.
    #[error("it was changed by somebody else at the same time; read it again")]
    ChangedMeanwhile,
    /// Too many secrets would be valid.
    #[error("{0}")]
    TooManySecrets(postrider_domain::secret::TooManySecrets),
}

impl From<Conflict> for GatewayError {
    fn from(conflict: Conflict) -> Self {
        Self::Conflict(conflict)
    }
}
