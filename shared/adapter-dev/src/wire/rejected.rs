//! Rejected requests: their content is sent sealed, in the form in which every store keeps it.

use postrider_domain::ids::{RejectedId, SourceId, TenantId};
use postrider_domain::inbound::Rejection;
use postrider_domain::rejected::{RejectedRequest, StoredRejection};
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_store_format::{Vault, seal_request, unseal_request};
use serde::{Deserialize, Serialize};

use super::{Binary, Wire};

#[derive(Serialize, Deserialize)]
pub(crate) struct RejectedForm {
    tenant: TenantId,
    source: SourceId,
    at: Timestamp,
    reason: Rejection,
    request: Binary,
    body_bytes: u64,
    is_cut: bool,
}

impl Wire for RejectedRequest {
    type Form = RejectedForm;

    fn pack(&self, vault: &Vault) -> Result<RejectedForm> {
        let sealed = seal_request(vault, &self.tenant, self.source, &self.request)?;
        Ok(RejectedForm {
            tenant: self.tenant.clone(),
            source: self.source,
            at: self.at,
            reason: self.reason,
            request: Binary(sealed),
            body_bytes: self.body_bytes,
            is_cut: self.is_cut,
        })
    }

    fn unpack(form: RejectedForm, vault: &Vault) -> Result<Self> {
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

impl Wire for StoredRejection {
    type Form = (RejectedId, RejectedForm);

    fn pack(&self, vault: &Vault) -> Result<Self::Form> {
        Ok((self.id, self.rejected.pack(vault)?))
    }

    fn unpack((id, form): Self::Form, vault: &Vault) -> Result<Self> {
        let rejected = RejectedRequest::unpack(form, vault)?;
        Ok(Self { id, rejected })
    }
}
