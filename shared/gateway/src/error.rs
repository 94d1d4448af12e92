//! The errors of the use cases.

use postrider_domain::invalid::Invalid;
use postrider_domain::json_schema::PayloadFault;
use postrider_domain::route::Unroutable;
use postrider_domain::template::RenderError;

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
    /// Never empty, and never with a value of the payload.
    #[error("the payload does not match the schema of its event type{}", first(.0))]
    SchemaMismatch(Vec<PayloadFault>),
    #[error(
        "this Idempotency-Key was already used for a different request, or its event was erased"
    )]
    KeyReused,
    #[error("{0}")]
    Unroutable(#[from] Unroutable),
    /// Also when the id belongs to another tenant.
    #[error("there is no {what} with this id")]
    NotFound { what: &'static str },
    #[error("{0}")]
    Conflict(Conflict),
    #[error("the webhook's template cannot be rendered for this event: {0}")]
    Unrendered(RenderError),
    /// The tenant has reached the limit.
    #[error("at most {limit} {what} are allowed")]
    TooMany { limit: usize, what: &'static str },
    #[error("{0}")]
    Limited(#[from] Limited),
    #[error("at most {limit} shadow requests can run at the same time; try again in a moment")]
    TooManyShadows { limit: usize },
    /// The gateway failed, not the caller.
    #[error("{0}")]
    Store(#[from] postrider_ports::Error),
}

fn first(faults: &[PayloadFault]) -> String {
    faults
        .first()
        .map(|fault| format!(": {fault}"))
        .unwrap_or_default()
}

/// The limit in a tenant's record that a request exceeds. Only the operator can change it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Limited {
    #[error("this tenant may have at most {limit} webhooks")]
    Webhooks { limit: u32 },
    #[error("this tenant may publish at most {limit} events per second; try again in a moment")]
    PublishRate { limit: u32 },
    #[error("the payload is larger than the {limit} bytes that this tenant may publish")]
    BodyBytes { limit: u32 },
}

impl Limited {
    /// The limit's name in the record.
    #[must_use]
    pub const fn field(self) -> &'static str {
        match self {
            Self::Webhooks { .. } => "limits.webhooks",
            Self::PublishRate { .. } => "limits.publish_rate",
            Self::BodyBytes { .. } => "limits.max_body_bytes",
        }
    }
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
    #[error("this webhook already has a delivery of the event; retry that one")]
    Exists,
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
    #[error("a tenant with this id has been created before")]
    TenantExists,
    #[error("the tenant is being deleted")]
    TenantDeleted,
    #[error("the tenant `default` belongs to the operator and cannot be deleted")]
    DefaultTenant,
    #[error("{0}")]
    TooManySecrets(postrider_domain::secret::TooManySecrets),
}

impl From<Conflict> for GatewayError {
    fn from(conflict: Conflict) -> Self {
        Self::Conflict(conflict)
    }
}
