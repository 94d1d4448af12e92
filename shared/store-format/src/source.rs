//! The stored form of a source: settings as JSON, secrets sealed.

use std::sync::Arc;

use postrider_domain::ids::{SourceId, TenantId};
use postrider_domain::route::Route;
use postrider_domain::scheme::{CUSTOM, CustomDraft, Scheme};
use postrider_domain::secret::{SecretRing, SharedSecret};
use postrider_domain::source::SourceSettings;
use postrider_ports::{Error, Result};
use serde::{Deserialize, Serialize};
use url::Url;
use zeroize::Zeroizing;

use crate::{Vault, ring};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSource {
    /// JSON.
    pub settings: String,
    /// The secrets.
    pub sealed: Vec<u8>,
}

#[derive(Serialize, Deserialize)]
struct Shown {
    name: String,
    scheme: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    custom: Option<CustomDraft>,
    public_url: Option<Url>,
    routes: Vec<Route>,
}

/// Exists only between the vault and the domain's types, which cannot be serialised by accident.
#[derive(Serialize, Deserialize)]
struct Hidden {
    secret: Zeroizing<String>,
    retiring: ring::Retiring,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    verify_token: Option<Zeroizing<String>>,
}

impl StoredSource {
    pub fn of(
        vault: &Vault,
        tenant: &TenantId,
        id: SourceId,
        settings: &SourceSettings,
        secrets: &SecretRing<SharedSecret>,
    ) -> Result<Self> {
        let shown = Shown {
            name: settings.name.clone(),
            scheme: settings.scheme.name.to_owned(),
            custom: (settings.scheme.name == CUSTOM).then(|| CustomDraft::from(&*settings.scheme)),
            public_url: settings.public_url.clone(),
            routes: settings.routes.clone(),
        };
        let (secret, retiring) = ring::hide(secrets, SharedSecret::expose);
        let token = settings.verify_token.as_ref();
        let hidden = Hidden {
            secret,
            retiring,
            verify_token: token.map(|token| Zeroizing::new(token.expose().to_owned())),
        };
        let plain = serde_json::to_vec(&hidden).map(Zeroizing::new);
        let plain = plain.map_err(|_| unreadable("secrets"))?;
        Ok(Self {
            settings: serde_json::to_string(&shown).map_err(|_| unreadable("settings"))?,
            sealed: vault.seal(item(tenant, id).as_bytes(), &plain)?,
        })
    }

    /// Opens the settings and secrets.
    pub fn open(
        &self,
        vault: &Vault,
        tenant: &TenantId,
        id: SourceId,
    ) -> Result<(SourceSettings, SecretRing<SharedSecret>)> {
        let shown: Shown =
            serde_json::from_str(&self.settings).map_err(|_| unreadable("settings"))?;
        let plain = vault.unseal(item(tenant, id).as_bytes(), &self.sealed)?;
        let hidden: Hidden = serde_json::from_slice(&plain).map_err(|_| unreadable("secrets"))?;
        let secrets = ring::unhide(&hidden.secret, &hidden.retiring, SharedSecret::parse)
            .map_err(|_| unreadable("secrets"))?;
        let verify_token = hidden
            .verify_token
            .as_ref()
            .map(|text| SharedSecret::parse(text));
        let settings = SourceSettings {
            name: shown.name,
            scheme: scheme(&shown.scheme, shown.custom).ok_or_else(|| unreadable("scheme"))?,
            public_url: shown.public_url,
            verify_token: verify_token
                .transpose()
                .map_err(|_| unreadable("secrets"))?,
            routes: shown.routes,
        };
        Ok((settings, secrets))
    }
}

fn scheme(name: &str, custom: Option<CustomDraft>) -> Option<Arc<Scheme>> {
    match custom {
        Some(custom) => custom.check().ok().map(Arc::new),
        None => Scheme::named(name).ok(),
    }
}

/// The item that a sealed value is bound to.
fn item(tenant: &TenantId, id: SourceId) -> String {
    format!("{tenant}/{id}")
}

/// Names the value, never its content.
fn unreadable(what: &str) -> Error {
    Error::Broken(format!("a source's stored {what} cannot be read"))
}
