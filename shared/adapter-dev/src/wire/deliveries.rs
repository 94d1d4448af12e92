//! Events with their bodies, and claimed rows.

use std::sync::Arc;

use postrider_domain::delivery::{Claimed, Delivery, Lease, Unclaimable};
use postrider_domain::event::{Event, Label, Origin, RequestHash};
use postrider_domain::ids::{EventId, TenantId};
use postrider_domain::pattern::EventType;
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::deliveries::{Acceptance, Claim, ClaimedDelivery, EventIdFrom};
use postrider_ports::transfers::{MovedDelivery, MovedEvent};
use postrider_store_format::Vault;
use serde::{Deserialize, Serialize};

use super::{Binary, Form, Wire, unfit};

/// A row is sent with its owner; the receiving side repeats the owner's claim, which succeeds.
impl Wire for Claimed {
    type Form = Delivery;

    fn pack(&self, _: &Vault) -> Result<Delivery> {
        Ok(self.delivery().clone())
    }

    fn unpack(row: Delivery, _: &Vault) -> Result<Self> {
        let owner = row.lease_owner.clone().ok_or_else(|| unfit("a claim"))?;
        let until = row.lease_until;
        row.claim(&Lease { owner, until }, until)
            .map_err(|_| unfit("a claim"))
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct EventForm {
    id: EventId,
    tenant: TenantId,
    event_type: EventType,
    session_id: Option<Label>,
    content_type: Label,
    body: Binary,
    origin: Origin,
    created_at: Timestamp,
}

impl Wire for Event {
    type Form = EventForm;

    fn pack(&self, _: &Vault) -> Result<EventForm> {
        Ok(EventForm {
            id: self.id,
            tenant: self.tenant.clone(),
            event_type: self.event_type.clone(),
            session_id: self.session_id.clone(),
            content_type: self.content_type.clone(),
            body: Binary(self.body.to_vec()),
            origin: self.origin,
            created_at: self.created_at,
        })
    }

    fn unpack(form: EventForm, _: &Vault) -> Result<Self> {
        Ok(Self {
            id: form.id,
            tenant: form.tenant,
            event_type: form.event_type,
            session_id: form.session_id,
            content_type: form.content_type,
            body: form.body.0.into(),
            origin: form.origin,
            created_at: form.created_at,
        })
    }
}

impl Wire for ClaimedDelivery {
    type Form = (Delivery, EventForm);

    fn pack(&self, vault: &Vault) -> Result<Self::Form> {
        Ok((self.claimed.pack(vault)?, self.event.pack(vault)?))
    }

    fn unpack((claimed, event): Self::Form, vault: &Vault) -> Result<Self> {
        Ok(Self {
            claimed: Claimed::unpack(claimed, vault)?,
            event: Arc::unpack(event, vault)?,
        })
    }
}

impl Wire for Acceptance {
    type Form = (EventForm, RequestHash, Vec<Delivery>, u64, EventIdFrom);

    fn pack(&self, vault: &Vault) -> Result<Self::Form> {
        let event = self.event.pack(vault)?;
        Ok((
            event,
            self.request_hash,
            self.rows.clone(),
            self.config_version,
            self.event_id,
        ))
    }

    fn unpack(form: Self::Form, vault: &Vault) -> Result<Self> {
        let (event, request_hash, rows, config_version, event_id) = form;
        Ok(Self {
            event: Arc::unpack(event, vault)?,
            request_hash,
            rows,
            config_version,
            event_id,
        })
    }
}

impl Wire for MovedEvent {
    type Form = (EventForm, RequestHash, Vec<MovedDelivery>);

    fn pack(&self, vault: &Vault) -> Result<Self::Form> {
        let event = self.event.pack(vault)?;
        Ok((event, self.request_hash, self.deliveries.clone()))
    }

    fn unpack(form: Self::Form, vault: &Vault) -> Result<Self> {
        let (event, request_hash, deliveries) = form;
        Ok(Self {
            event: Arc::unpack(event, vault)?,
            request_hash,
            deliveries,
        })
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) enum ClaimForm {
    Claimed(Box<Form<ClaimedDelivery>>),
    Unclaimable(Unclaimable),
    Missing,
    NotFresh,
    WebhookDeleted,
}

impl Wire for Claim {
    type Form = ClaimForm;

    fn pack(&self, vault: &Vault) -> Result<ClaimForm> {
        Ok(match self {
            Self::Claimed(delivery) => ClaimForm::Claimed(Box::new(delivery.pack(vault)?)),
            Self::Unclaimable(why) => ClaimForm::Unclaimable(*why),
            Self::Missing => ClaimForm::Missing,
            Self::NotFresh => ClaimForm::NotFresh,
            Self::WebhookDeleted => ClaimForm::WebhookDeleted,
        })
    }

    fn unpack(form: ClaimForm, vault: &Vault) -> Result<Self> {
        Ok(match form {
            ClaimForm::Claimed(delivery) => {
                Self::Claimed(Box::new(ClaimedDelivery::unpack(*delivery, vault)?))
            }
            ClaimForm::Unclaimable(why) => Self::Unclaimable(why),
            ClaimForm::Missing => Self::Missing,
            ClaimForm::NotFresh => Self::NotFresh,
            ClaimForm::WebhookDeleted => Self::WebhookDeleted,
        })
    }
}
