//! The stored form of a webhook: settings as JSON, secrets and header values sealed.

use postrider_domain::headers::CustomHeaders;
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::pattern::Pattern;
use postrider_domain::payload_filter::PayloadFilter;
use postrider_domain::retry::RetrySettings;
use postrider_domain::secret::{SecretRing, SigningSecret};
use postrider_domain::template::Template;
use postrider_domain::time::Millis;
use postrider_domain::webhook::WebhookSettings;
use postrider_ports::mail::Contact;
use postrider_ports::{Error, Result};
use serde::{Deserialize, Serialize};
use url::Url;
use zeroize::Zeroizing;

use crate::{Vault, ring};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredWebhook {
    /// JSON, without secrets and header values.
    pub settings: String,
    /// The secrets and header values.
    pub sealed: Vec<u8>,
}

/// What a store needs to know about a webhook, without unsealing anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct Outline {
    /// Retries per second.
    pub retry_rate: u32,
    /// Whether a failed webhook is probed and resumed automatically.
    pub auto_resume: bool,
}

#[derive(Serialize, Deserialize)]
struct Shown {
    name: String,
    target_url: Url,
    event_types: Vec<Pattern>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    filter: Option<PayloadFilter>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    template: Option<Template>,
    owner_email: Option<String>,
    timeout_ms: Millis,
    retry_rate: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_rate: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_in_flight: Option<u32>,
    auto_resume: bool,
    retry: RetrySettings,
}

/// Exists only between the vault and the domain's types, which cannot be serialised by accident.
#[derive(Serialize, Deserialize)]
struct Hidden {
    secret: Zeroizing<String>,
    retiring: ring::Retiring,
    headers: Vec<(String, Zeroizing<String>)>,
}

impl StoredWebhook {
    pub fn of(
        vault: &Vault,
        tenant: &TenantId,
        id: WebhookId,
        settings: &WebhookSettings,
        secrets: &SecretRing,
    ) -> Result<Self> {
        let shown = Shown {
            name: settings.name.clone(),
            target_url: settings.target_url.clone(),
            event_types: settings.event_types.clone(),
            filter: settings.filter.clone(),
            template: settings.template.clone(),
            owner_email: settings.owner_email.clone(),
            timeout_ms: settings.timeout,
            retry_rate: settings.retry_rate,
            max_rate: settings.max_rate,
            max_in_flight: settings.max_in_flight,
            auto_resume: settings.auto_resume,
            retry: settings.retry.clone(),
        };
        let plain = Zeroizing::new(to_json(&Hidden::of(settings, secrets)?)?);
        Ok(Self {
            settings: to_json(&shown)?,
            sealed: vault.seal(item(tenant, id).as_bytes(), plain.as_bytes())?,
        })
    }

    /// The e-mail contact. Unseals nothing.
    pub fn contact(settings: &str) -> Result<Contact> {
        let shown: Shown = serde_json::from_str(settings).map_err(|_| unreadable("settings"))?;
        Ok(Contact {
            name: shown.name,
            owner_email: shown.owner_email,
        })
    }

    pub fn outline(settings: &str) -> Result<Outline> {
        serde_json::from_str(settings).map_err(|_| unreadable("settings"))
    }

    /// Opens the settings and secrets.
    pub fn open(
        &self,
        vault: &Vault,
        tenant: &TenantId,
        id: WebhookId,
    ) -> Result<(WebhookSettings, SecretRing)> {
        let shown: Shown =
            serde_json::from_str(&self.settings).map_err(|_| unreadable("settings"))?;
        let plain = vault.unseal(item(tenant, id).as_bytes(), &self.sealed)?;
        let hidden: Hidden = serde_json::from_slice(&plain).map_err(|_| unreadable("secrets"))?;
        let settings = WebhookSettings {
            name: shown.name,
            target_url: shown.target_url,
            event_types: shown.event_types,
            filter: shown.filter,
            template: shown.template,
            owner_email: shown.owner_email,
            headers: hidden.headers()?,
            timeout: shown.timeout_ms,
            retry_rate: shown.retry_rate,
            max_rate: shown.max_rate,
            max_in_flight: shown.max_in_flight,
            auto_resume: shown.auto_resume,
            retry: shown.retry,
        };
        Ok((settings, hidden.secrets()?))
    }
}

impl Hidden {
    fn of(settings: &WebhookSettings, secrets: &SecretRing) -> Result<Self> {
        let (secret, retiring) = ring::hide(secrets, SigningSecret::expose);
        let headers = settings.headers.iter().map(|(name, value)| {
            let value = value.to_str().map_err(|_| unreadable("headers"))?;
            Ok((name.as_str().to_owned(), Zeroizing::new(value.to_owned())))
        });
        Ok(Self {
            secret,
            retiring,
            headers: headers.collect::<Result<_>>()?,
        })
    }

    fn headers(&self) -> Result<CustomHeaders> {
        let headers = self
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()));
        CustomHeaders::parse(headers).map_err(|_| unreadable("headers"))
    }

    fn secrets(&self) -> Result<SecretRing> {
        ring::unhide(&self.secret, &self.retiring, SigningSecret::parse)
            .map_err(|_| unreadable("secrets"))
    }
}

/// The item that a sealed value is bound to.
fn item(tenant: &TenantId, id: WebhookId) -> String {
    format!("{tenant}/{id}")
}

fn to_json<T: Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::Broken(error.to_string()))
}

/// Names the value, never its content.
fn unreadable(what: &str) -> Error {
    Error::Broken(format!("a webhook's stored {what} cannot be read"))
}

#[cfg(test)]
mod tests {
    use postrider_domain::egress::Rules;
    use postrider_domain::time::Timestamp;
    use postrider_domain::webhook::WebhookDraft;
    use serde_json::{Value, json};

    use super::*;

    /// A release can be rolled back: the older one reads what the newer one wrote.
    #[test]
    fn settings_of_a_newer_release_are_skipped_and_those_of_an_older_one_get_defaults() {
        let draft: WebhookDraft = serde_json::from_value(json!({
            "name": "orders",
            "target_url": "https://example.com/hooks",
            "event_types": ["order.*"],
            "retry": {"profile": "standard", "max_attempts": 4},
        }))
        .unwrap();
        let settings = draft.check(&Rules::default()).unwrap();
        let secrets = SecretRing::new(SigningSecret::from_key(&[7; 32]));
        let tenant: TenantId = "default".parse().unwrap();
        let id = WebhookId::new(Timestamp::ZERO, &[1; 10]);
        let vault = Vault::with_key(&[3; 32]).unwrap();
        let mut stored = StoredWebhook::of(&vault, &tenant, id, &settings, &secrets).unwrap();

        let mut written: Value = serde_json::from_str(&stored.settings).unwrap();
        written["from_a_newer_release"] = json!({"a": 1});
        written["retry"]["from_a_newer_release"] = json!("later");
        let fields = written.as_object_mut().unwrap();
        fields.retain(|name, _| !["max_rate", "max_in_flight"].contains(&name.as_str()));
        stored.settings = written.to_string();

        let (opened, _) = stored.open(&vault, &tenant, id).unwrap();
        assert_eq!(opened, settings);
        assert_eq!(
            StoredWebhook::contact(&stored.settings).unwrap().name,
            "orders"
        );
    }
}
