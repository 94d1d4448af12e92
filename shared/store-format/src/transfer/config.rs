//! Webhooks, sources and API keys as records.

use std::collections::BTreeMap;

use data_encoding::HEXLOWER;
use postrider_domain::health::{StatusReason, WebhookStatus};
use postrider_domain::ids::{KeyId, SourceId, TenantId, WebhookId};
use postrider_domain::invalid::Invalid;
use postrider_domain::key::{ApiKey, KeyDigest, Scope};
use postrider_domain::route::{Route, RouteDraft};
use postrider_domain::scheme::{CUSTOM, CustomDraft};
use postrider_domain::secret::{SharedSecret, SigningSecret, UncheckedSecret};
use postrider_domain::source::{Source, SourceDraft};
use postrider_domain::time::Timestamp;
use postrider_domain::transfer::{SourceCopy, WebhookCopy};
use postrider_domain::webhook::{Webhook, WebhookDraft};
use postrider_ports::Result;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::{KEY, SOURCE, WEBHOOK, seal, unreadable, unseal};
use crate::{Vault, ring};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebhookRecord {
    pub kind: String,
    pub tenant: TenantId,
    pub id: WebhookId,
    pub status: WebhookStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<StatusReason>,
    pub created_at: Timestamp,
    /// As in the API, without `headers`.
    pub settings: WebhookDraft,
    /// The secrets and header values.
    pub sealed: String,
}

#[derive(Serialize, Deserialize)]
struct WebhookSecrets {
    secret: Zeroizing<String>,
    retiring: ring::Retiring,
    headers: BTreeMap<String, Zeroizing<String>>,
}

impl WebhookRecord {
    /// `draft` is the webhook's settings as they could be submitted.
    pub fn of(vault: &Vault, webhook: &Webhook, draft: WebhookDraft) -> Result<Self> {
        let copy = WebhookCopy {
            id: webhook.id,
            tenant: webhook.tenant.clone(),
            draft,
            secrets: webhook.secrets.clone(),
            status: webhook.health.status,
            reason: webhook.health.reason.clone(),
            created_at: webhook.created_at,
        };
        Self::of_copy(vault, copy)
    }

    pub fn of_copy(vault: &Vault, copy: WebhookCopy) -> Result<Self> {
        let mut draft = copy.draft;
        let headers = draft.headers.take().unwrap_or_default();
        let (secret, retiring) = ring::hide(&copy.secrets, SigningSecret::expose);
        let hidden = WebhookSecrets {
            secret,
            retiring,
            headers: headers
                .into_iter()
                .map(|(name, value)| (name, Zeroizing::new(value)))
                .collect(),
        };
        let id = copy.id.to_string();
        Ok(Self {
            kind: WEBHOOK.to_owned(),
            id: copy.id,
            status: copy.status,
            reason: copy.reason,
            created_at: copy.created_at,
            settings: draft,
            sealed: seal(vault, WEBHOOK, &copy.tenant, &id, &hidden)?,
            tenant: copy.tenant,
        })
    }

    /// # Errors
    /// By field.
    pub fn open(self, vault: &Vault) -> std::result::Result<WebhookCopy, Invalid> {
        let id = self.id.to_string();
        let hidden: WebhookSecrets = unseal(vault, WEBHOOK, &self.tenant, &id, &self.sealed)?;
        let secrets = ring::unhide(&hidden.secret, &hidden.retiring, SigningSecret::parse);
        let secrets = secrets.map_err(|error| Invalid::field("secret", error.to_string()))?;
        let headers = hidden.headers.iter();
        let headers = headers.map(|(name, value)| (name.clone(), value.to_string()));
        Ok(WebhookCopy {
            id: self.id,
            tenant: self.tenant,
            draft: WebhookDraft {
                headers: Some(headers.collect()),
                ..self.settings
            },
            secrets,
            status: self.status,
            reason: self.reason,
            created_at: self.created_at,
        })
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceRecord {
    pub kind: String,
    pub tenant: TenantId,
    pub id: SourceId,
    pub created_at: Timestamp,
    pub name: String,
    pub scheme: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom: Option<CustomDraft>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_url: Option<String>,
    pub routes: Vec<Route>,
    /// The secrets.
    pub sealed: String,
}

#[derive(Serialize, Deserialize)]
struct SourceSecrets {
    secret: Zeroizing<String>,
    retiring: ring::Retiring,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    verify_token: Option<Zeroizing<String>>,
}

impl SourceRecord {
    pub fn of(vault: &Vault, source: &Source) -> Result<Self> {
        let settings = &source.settings;
        let (secret, retiring) = ring::hide(&source.secrets, SharedSecret::expose);
        let token = settings.verify_token.as_ref();
        let hidden = SourceSecrets {
            secret,
            retiring,
            verify_token: token.map(|token| Zeroizing::new(token.expose().to_owned())),
        };
        let (tenant, id) = (&source.tenant, source.id);
        Ok(Self {
            kind: SOURCE.to_owned(),
            tenant: tenant.clone(),
            id,
            created_at: source.created_at,
            name: settings.name.clone(),
            scheme: settings.scheme.name.to_owned(),
            custom: (settings.scheme.name == CUSTOM).then(|| CustomDraft::from(&*settings.scheme)),
            public_url: settings.public_url.as_ref().map(ToString::to_string),
            routes: settings.routes.clone(),
            sealed: seal(vault, SOURCE, tenant, &id.to_string(), &hidden)?,
        })
    }

    /// # Errors
    /// By field.
    pub fn open(self, vault: &Vault) -> std::result::Result<SourceCopy, Invalid> {
        let id = self.id.to_string();
        let hidden: SourceSecrets = unseal(vault, SOURCE, &self.tenant, &id, &self.sealed)?;
        let secrets = ring::unhide(&hidden.secret, &hidden.retiring, SharedSecret::parse);
        let secrets = secrets.map_err(|error| Invalid::field("secret", error.to_string()))?;
        let token = hidden.verify_token.as_ref();
        Ok(SourceCopy {
            id: self.id,
            tenant: self.tenant,
            draft: SourceDraft {
                name: self.name,
                scheme: self.scheme,
                custom: self.custom,
                public_url: self.public_url,
                verify_token: token.map(|token| UncheckedSecret::from(token.to_string())),
                routes: self.routes.iter().map(RouteDraft::from).collect(),
            },
            secrets,
            created_at: self.created_at,
        })
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyRecord {
    pub kind: String,
    pub tenant: TenantId,
    pub id: KeyId,
    pub name: String,
    pub scopes: Vec<Scope>,
    pub created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<Timestamp>,
    /// The digest of the token. An operator may have chosen a token that could be guessed from it.
    pub sealed: String,
}

impl KeyRecord {
    pub fn of(vault: &Vault, key: &ApiKey) -> Result<Self> {
        let digest = HEXLOWER.encode(&key.digest.0);
        Ok(Self {
            kind: KEY.to_owned(),
            tenant: key.tenant.clone(),
            id: key.id,
            name: key.name.clone(),
            scopes: key.scopes.clone(),
            created_at: key.created_at,
            last_used_at: key.last_used_at,
            sealed: seal(vault, KEY, &key.tenant, &key.id.to_string(), &digest)?,
        })
    }

    /// # Errors
    /// By field.
    pub fn open(self, vault: &Vault) -> std::result::Result<ApiKey, Invalid> {
        let id = self.id.to_string();
        let digest: String = unseal(vault, KEY, &self.tenant, &id, &self.sealed)?;
        let digest = HEXLOWER.decode(digest.as_bytes()).ok();
        let digest = digest.and_then(|digest| digest.try_into().ok());
        Ok(ApiKey {
            id: self.id,
            tenant: self.tenant,
            name: self.name,
            scopes: self.scopes,
            digest: KeyDigest(digest.ok_or_else(|| unreadable("sealed"))?),
            created_at: self.created_at,
            last_used_at: self.last_used_at,
        })
    }
}
