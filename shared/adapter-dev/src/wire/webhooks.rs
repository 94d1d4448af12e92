//! Webhooks: their secrets and header values are sent sealed, in the form in which every store keeps them.

use postrider_domain::health::Health;
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::secret::SecretRing;
use postrider_domain::tenant::Tenant;
use postrider_domain::time::Timestamp;
use postrider_domain::webhook::{Webhook, WebhookSettings};
use postrider_ports::Result;
use postrider_ports::configs::{WebhookChange, WebhookList};
use postrider_store_format::{StoredWebhook, Vault};
use serde::{Deserialize, Serialize};

use super::{Binary, Form, Wire};

/// What is sealed here is unsealed immediately on the other side, so it is not bound to a webhook.
const IN_TRANSIT: WebhookId = WebhookId::from_bytes([0; 16]);

/// Settings, and the sealed part.
type Content = (String, Binary);

fn seal(vault: &Vault, settings: &WebhookSettings, secrets: &SecretRing) -> Result<Content> {
    let tenant = TenantId::default();
    let stored = StoredWebhook::of(vault, &tenant, IN_TRANSIT, settings, secrets)?;
    Ok((stored.settings, Binary(stored.sealed)))
}

fn open(content: Content, vault: &Vault) -> Result<(WebhookSettings, SecretRing)> {
    let (settings, Binary(sealed)) = content;
    let stored = StoredWebhook { settings, sealed };
    stored.open(vault, &TenantId::default(), IN_TRANSIT)
}

#[derive(Serialize, Deserialize)]
pub(crate) struct WebhookForm {
    id: WebhookId,
    tenant: TenantId,
    content: Content,
    created_at: Timestamp,
    updated_at: Timestamp,
    health: Health,
}

impl Wire for Webhook {
    type Form = WebhookForm;

    fn pack(&self, vault: &Vault) -> Result<WebhookForm> {
        Ok(WebhookForm {
            id: self.id,
            tenant: self.tenant.clone(),
            content: seal(vault, &self.settings, &self.secrets)?,
            created_at: self.created_at,
            updated_at: self.updated_at,
            health: self.health.clone(),
        })
    }

    fn unpack(form: WebhookForm, vault: &Vault) -> Result<Self> {
        let (settings, secrets) = open(form.content, vault)?;
        Ok(Self {
            id: form.id,
            tenant: form.tenant,
            settings,
            secrets,
            created_at: form.created_at,
            updated_at: form.updated_at,
            health: form.health,
        })
    }
}

impl Wire for WebhookList {
    type Form = (u64, Vec<Form<Webhook>>, Option<Tenant>);

    fn pack(&self, vault: &Vault) -> Result<Self::Form> {
        let webhooks = self.webhooks.pack(vault)?;
        Ok((self.version, webhooks, self.tenant.clone()))
    }

    fn unpack((version, webhooks, tenant): Self::Form, vault: &Vault) -> Result<Self> {
        let webhooks = Vec::unpack(webhooks, vault)?;
        Ok(Self {
            version,
            webhooks,
            tenant,
        })
    }
}

impl Wire for WebhookChange {
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
