//! How values are encoded on the wire. Most are serialized directly; those that must not be written out by accident, or
//! that only a claim can create, have a separate form.

mod deliveries;
mod rejected;
mod sources;
mod webhooks;

use std::sync::Arc;

use data_encoding::BASE64;
use postrider_domain::attempt::Attempt;
use postrider_domain::delivery::{Completion, Delivery, Force};
use postrider_domain::event::{Label, RequestHash};
use postrider_domain::event_catalogue::CatalogueEntry;
use postrider_domain::flow::{Limiter, Limits};
use postrider_domain::health::{Health, WebhookStatus};
use postrider_domain::ids::{
    DeliveryId, ErasureId, EventId, JobId, KeyId, RejectedId, SourceId, TenantId, WebhookId,
};
use postrider_domain::key::{ApiKey, KeyDigest};
use postrider_domain::pattern::EventType;
use postrider_domain::portal::PortalLink;
use postrider_domain::rejected::RejectionCounts;
use postrider_domain::tenant::Tenant;
use postrider_domain::time::Timestamp;
use postrider_ports::backlog::{Rows, Stretch};
use postrider_ports::configs::{Changed, Created};
use postrider_ports::deliveries::{Accepted, Applied, Renewed, Wanted};
use postrider_ports::drains::{
    BacklogPart, BacklogSize, DrainEnd, DrainLease, Postponed, Registration, Round,
};
use postrider_ports::erasures::{DeletedSettings, Erasure, EventErased};
use postrider_ports::history::{Cursor, Filter, HourlyStats, Page};
use postrider_ports::interventions::{Added, Requeued};
use postrider_ports::jobs::RetryJob;
use postrider_ports::limiters::{Stored, WebhookFlow};
use postrider_ports::notifications::StoredNotification;
use postrider_ports::queue::QueueMessage;
use postrider_ports::sessions::SessionId;
use postrider_ports::transfers::Adopted;
use postrider_ports::{Error, Result};
use postrider_store_format::Vault;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// A value that can be sent.
pub(crate) trait Wire: Sized {
    type Form: Serialize + DeserializeOwned + Send;

    fn pack(&self, vault: &Vault) -> Result<Self::Form>;

    fn unpack(form: Self::Form, vault: &Vault) -> Result<Self>;
}

/// The encoded form of a value.
pub(crate) type Form<T> = <T as Wire>::Form;

macro_rules! as_they_are {
    ($($plain:ty),+ $(,)?) => {
        $(impl Wire for $plain {
            type Form = Self;

            fn pack(&self, _: &Vault) -> Result<Self> {
                Ok(self.clone())
            }

            fn unpack(form: Self, _: &Vault) -> Result<Self> {
                Ok(form)
            }
        })+
    };
}

as_they_are!(
    (),
    bool,
    u16,
    u32,
    u64,
    usize,
    String,
    StoredNotification,
    Accepted,
    Added,
    Adopted,
    ApiKey,
    Applied,
    Attempt,
    BacklogPart,
    BacklogSize,
    CatalogueEntry,
    Changed,
    Completion,
    Created,
    Cursor,
    DeletedSettings,
    Delivery,
    DeliveryId,
    DrainEnd,
    DrainLease,
    Erasure,
    ErasureId,
    EventErased,
    EventId,
    EventType,
    Filter,
    Force,
    Health,
    QueueMessage,
    HourlyStats,
    JobId,
    KeyDigest,
    KeyId,
    Label,
    Limiter,
    Limits,
    Page<Delivery>,
    Page<Registration>,
    Postponed,
    Registration,
    Round,
    RejectedId,
    Renewed,
    RequestHash,
    Requeued,
    RetryJob,
    SessionId,
    PortalLink,
    Rows,
    SourceId,
    Stored,
    Stretch,
    RejectionCounts,
    Tenant,
    TenantId,
    Timestamp,
    Wanted,
    WebhookFlow,
    WebhookId,
    WebhookStatus,
);

impl<T: Wire> Wire for Vec<T> {
    type Form = Vec<T::Form>;

    fn pack(&self, vault: &Vault) -> Result<Self::Form> {
        self.iter().map(|item| item.pack(vault)).collect()
    }

    fn unpack(form: Self::Form, vault: &Vault) -> Result<Self> {
        form.into_iter()
            .map(|item| T::unpack(item, vault))
            .collect()
    }
}

impl<T: Wire> Wire for Option<T> {
    type Form = Option<T::Form>;

    fn pack(&self, vault: &Vault) -> Result<Self::Form> {
        self.as_ref().map(|item| item.pack(vault)).transpose()
    }

    fn unpack(form: Self::Form, vault: &Vault) -> Result<Self> {
        form.map(|item| T::unpack(item, vault)).transpose()
    }
}

impl<T: Wire> Wire for Arc<T> {
    type Form = T::Form;

    fn pack(&self, vault: &Vault) -> Result<Self::Form> {
        T::pack(self, vault)
    }

    fn unpack(form: Self::Form, vault: &Vault) -> Result<Self> {
        T::unpack(form, vault).map(Self::new)
    }
}

impl<A: Wire, B: Wire> Wire for (A, B) {
    type Form = (A::Form, B::Form);

    fn pack(&self, vault: &Vault) -> Result<Self::Form> {
        Ok((self.0.pack(vault)?, self.1.pack(vault)?))
    }

    fn unpack(form: Self::Form, vault: &Vault) -> Result<Self> {
        Ok((A::unpack(form.0, vault)?, B::unpack(form.1, vault)?))
    }
}

impl<T: Wire> Wire for Result<T> {
    type Form = Result<T::Form>;

    fn pack(&self, vault: &Vault) -> Result<Self::Form> {
        match self {
            Ok(value) => value.pack(vault).map(Ok),
            Err(error) => Ok(Err(error.clone())),
        }
    }

    fn unpack(form: Self::Form, vault: &Vault) -> Result<Self> {
        match form {
            Ok(value) => T::unpack(value, vault).map(Ok),
            Err(error) => Ok(Err(error)),
        }
    }
}

/// Bytes as base64: as numbers they would be four times as long.
#[derive(Clone, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub(crate) struct Binary(Vec<u8>);

impl From<Binary> for String {
    fn from(binary: Binary) -> Self {
        BASE64.encode(&binary.0)
    }
}

impl TryFrom<String> for Binary {
    type Error = data_encoding::DecodeError;

    fn try_from(text: String) -> std::result::Result<Self, Self::Error> {
        BASE64.decode(text.as_bytes()).map(Self)
    }
}

/// A form that the other side sent and that cannot be decoded.
pub(crate) fn unfit(what: &str) -> Error {
    Error::Broken(format!(
        "cannot decode {what}: `postrider dev` and the function have different versions"
    ))
}
