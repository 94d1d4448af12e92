//! Sources: their secrets are sent sealed, in the form in which every store keeps them.

use postrider_domain::ids::{SourceId, TenantId};
use postrider_domain::secret::{SecretRing, SharedSecret};
use postrider_domain::source::{Source, SourceSettings};
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::sources::SourceChange;
use postrider_store_format::{StoredSource, Vault};
use serde::{Deserialize, Serialize};

use super::{Binary, Wire};

/// What is sealed here is unsealed immediately on the other side, so it is not bound to a source.
const IN_TRANSIT: SourceId = SourceId::from_bytes([0; 16]);

/// Settings, and the sealed part.
type Content = (String, Binary);

fn seal(
    vault: &Vault,
    settings: &SourceSettings,
    secrets: &SecretRing<SharedSecret>,
) -> Result<Content> {
    let tenant = TenantId::default();
    let stored = StoredSource::of(vault, &tenant, IN_TRANSIT, settings, secrets)?;
    Ok((stored.settings, Binary(stored.sealed)))
}

fn open(content: Content, vault: &Vault) -> Result<(SourceSettings, SecretRing<SharedSecret>)> {
    let (settings, Binary(sealed)) = content;
    let stored = StoredSource { settings, sealed };
    stored.open(vault, &TenantId::default(), IN_TRANSIT)
}

#[derive(Serialize, Deserialize)]
pub(crate) struct SourceForm {
    id: SourceId,
    tenant: TenantId,
    content: Content,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl Wire for Source {
    type Form = SourceForm;

    fn pack(&self, vault: &Vault) -> Result<SourceForm> {
        Ok(SourceForm {
            id: self.id,
            tenant: self.tenant.clone(),
            content: seal(vault, &self.settings, &self.secrets)?,
            created_at: self.created_at,
            updated_at: self.updated_at,
        })
    }

    fn unpack(form: SourceForm, vault: &Vault) -> Result<Self> {
        let (settings, secrets) = open(form.content, vault)?;
        Ok(Self {
            id: form.id,
            tenant: form.tenant,
            settings,
            secrets,
            created_at: form.created_at,
            updated_at: form.updated_at,
        })
    }
}

impl Wire for SourceChange {
    type Form = (Timestamp, Content, Timestamp);

    fn pack(&self, vault: &Vault) -> Result<Self::Form> {
        let content = seal(vault, &self.settings, &self.secrets)?;
        Ok((self.seen, content, self.updated_at))
    }

    fn unpack((seen, content, updated_at): Self::Form, vault: &Vault) -> Result<Self> {
        let (settings, secrets) = open(content, vault)?;
        Ok(Self {
            seen,
            settings,
            secrets,
            updated_at,
        })
    }
}
