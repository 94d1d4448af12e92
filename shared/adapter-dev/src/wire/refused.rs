//! Refused requests: what they hold crosses sealed, in the form in which every store keeps it.

use postrider_domain::ids::{RefusedId, SourceId, TenantId};
use postrider_domain::inbound::Refused;
use postrider_domain::refused::{KeptRequest, RefusedRequest};
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_sealed::{Vault, seal_request, unseal_request};
use serde::{Deserialize, Serialize};

use super::{Binary, Wire};

#[derive(Serialize, Deserialize)]
pub(crate) struct RefusedForm {
    tenant: TenantId,
    source: SourceId,
    at: Timestamp,
    reason: Refused,
    request: Binary,
    body_bytes: u64,
    is_cut: bool,
}

impl Wire for RefusedRequest {
    type Form = RefusedForm;

    fn pack(&self, vault: &Vault) -> Result<RefusedForm> {
        let sealed = seal_request(vault, &self.tenant, self.source, &self.request)?;
        Ok(RefusedForm {
            tenant: self.tenant.clone(),
            source: self.source,
            at: self.at,
            reason: self.reason,
            request: Binary(sealed),
            body_bytes: self.body_bytes,
            is_cut: self.is_cut,
        })
    }

    fn unpack(form: RefusedForm, vault: &Vault) -> Result<Self> {
        let Binary(sealed) = form.request;
        Ok(Self {
            request: unseal_request(vault, &form.tenant, form.source, &sealed)?,
            tenant: form.tenant,
            source: form.source,
            at: form.at,
            reason: form.reason,
            body_bytes: form.body_bytes,
            is_cut: form.is_cut,
        })
    }
}

impl Wire for KeptRequest {
    type Form = (RefusedId, RefusedForm);

    fn pack(&self, vault: &Vault) -> Result<Self::Form> {
        Ok((self.id, self.refused.pack(vault)?))
    }

    fn unpack((id, form): Self::Form, vault: &Vault) -> Result<Self> {
        let refused = RefusedRequest::unpack(form, vault)?;
        Ok(Self { id, refused })
    }
}
