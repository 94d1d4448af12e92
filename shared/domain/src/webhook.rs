//! An outbound destination and what its owner may say about it.

use serde::{Deserialize, Serialize};
use url::Url;

use crate::egress::Rules;
use crate::headers::CustomHeaders;
use crate::health::{Health, WebhookStatus};
use crate::ids::{TenantId, WebhookId};
use crate::invalid::Invalid;
use crate::pattern::{EventType, Pattern};
use crate::retry::RetrySettings;
use crate::secret::{SecretRing, SigningSecret};
use crate::time::{Millis, Timestamp};

/// The most webhooks of one tenant.
pub const MAX_WEBHOOKS: usize = 1000;
/// The most subscriptions of one webhook.
pub const MAX_PATTERNS: usize = 100;
/// The longest name, in characters.
pub const MAX_NAME_CHARS: usize = 100;
/// The longest mail address, in bytes.
pub const MAX_EMAIL_BYTES: usize = 254;
/// The whole time of an attempt, unless the webhook says otherwise.
pub const DEFAULT_TIMEOUT_SECONDS: u32 = 10;
/// The longest time of an attempt.
pub const MAX_TIMEOUT_SECONDS: u32 = 30;
/// Retries a second, unless the webhook says otherwise.
pub const DEFAULT_RETRY_RATE: u32 = 5;
/// The most retries a second.
pub const MAX_RETRY_RATE: u32 = 10_000;

/// An outbound destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Webhook {
    /// Its id.
    pub id: WebhookId,
    /// Its owner.
    pub tenant: TenantId,
    /// What can be changed about it.
    pub settings: WebhookSettings,
    /// What it signs with.
    pub secrets: SecretRing,
    /// When it was made.
    pub created_at: Timestamp,
    /// When its settings or secrets changed last.
    pub updated_at: Timestamp,
    /// Its state.
    pub health: Health,
}

impl Webhook {
    /// Whether it wants events of this type.
    #[must_use]
    pub fn wants(&self, event_type: &EventType) -> bool {
        self.health.status != WebhookStatus::Disabled
            && self
                .settings
                .event_types
                .iter()
                .any(|pattern| pattern.matches(event_type))
    }
}

/// What an owner may set, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookSettings {
    /// What people call it.
    pub name: String,
    /// Where deliveries go, as serialised after the check.
    pub target_url: Url,
    /// What it subscribes to.
    pub event_types: Vec<Pattern>,
    /// Who hears of trouble.
    pub owner_email: Option<String>,
    /// Headers of its own.
    pub headers: CustomHeaders,
    /// The whole time of an attempt.
    pub timeout: Millis,
    /// Retries a second.
    pub retry_rate: u32,
    /// Whether a failed webhook is tested and resumed by itself.
    pub auto_resume: bool,
    /// How failures are retried.
    pub retry: RetrySettings,
}

/// What an owner says, unchecked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebhookDraft {
    /// 1 to 100 characters.
    pub name: String,
    /// An https URL that egress rules allow.
    pub target_url: String,
    /// 1 to 100 patterns.
    pub event_types: Vec<String>,
    /// A mail address.
    #[serde(default)]
    pub owner_email: Option<String>,
    /// At most 32 headers of 8 KiB in all.
    #[serde(default)]
    pub headers: Option<std::collections::BTreeMap<String, String>>,
    /// 1 to 30.
    #[serde(default)]
    pub timeout_seconds: Option<u32>,
    /// 1 to 10,000 a second.
    #[serde(default)]
    pub retry_rate: Option<u32>,
    /// Off unless set.
    #[serde(default)]
    pub auto_resume: Option<bool>,
    /// The profile `gateway` unless set.
    #[serde(default)]
    pub retry: Option<RetrySettings>,
}

impl WebhookDraft {
    /// Checks every field.
    ///
    /// # Errors
    /// All faults at once.
    pub fn check(self, rules: &Rules) -> Result<WebhookSettings, Invalid> {
        let mut faults = Invalid::default();
        let name = self.name.trim().to_owned();
        faults.require(is_name(&name), "name", || {
            format!("must be 1 to {MAX_NAME_CHARS} characters, none of them a control character")
        });
        let target_url = faults.take("target_url", rules.check_url(&self.target_url));
        let count = self.event_types.len();
        faults.require((1..=MAX_PATTERNS).contains(&count), "event_types", || {
            format!("must be 1 to {MAX_PATTERNS} patterns")
        });
        let mut event_types = Vec::new();
        for (n, pattern) in self.event_types.into_iter().take(MAX_PATTERNS).enumerate() {
            event_types
                .extend(faults.take(&format!("event_types[{n}]"), Pattern::try_from(pattern)));
        }
        faults.require(
            self.owner_email.as_deref().is_none_or(is_email),
            "owner_email",
            || format!("must be a mail address of at most {MAX_EMAIL_BYTES} bytes"),
        );
        let headers = self.headers.unwrap_or_default();
        let headers = match CustomHeaders::parse(
            headers
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str())),
        ) {
            Ok(headers) => headers,
            Err(found) => {
                faults.extend(found);
                CustomHeaders::default()
            }
        };
        let timeout = self.timeout_seconds.unwrap_or(DEFAULT_TIMEOUT_SECONDS);
        faults.require(
            (1..=MAX_TIMEOUT_SECONDS).contains(&timeout),
            "timeout_seconds",
            || format!("must be 1 to {MAX_TIMEOUT_SECONDS}"),
        );
        let retry_rate = self.retry_rate.unwrap_or(DEFAULT_RETRY_RATE);
        faults.require(
            (1..=MAX_RETRY_RATE).contains(&retry_rate),
            "retry_rate",
            || format!("must be 1 to {MAX_RETRY_RATE} a second"),
        );
        let retry = self.retry.unwrap_or_default();
        if let Err(found) = retry.check() {
            faults.extend(found);
        }
        match target_url {
            Some(target_url) => {
                faults.into_result()?;
                Ok(WebhookSettings {
                    name,
                    target_url,
                    event_types,
                    owner_email: self.owner_email,
                    headers,
                    timeout: Millis::from_seconds(u64::from(timeout)),
                    retry_rate,
                    auto_resume: self.auto_resume.unwrap_or(false),
                    retry,
                })
            }
            None => Err(faults),
        }
    }
}

/// Checks a secret that an owner brings along.
///
/// # Errors
/// When it has not the form, under `secret`.
pub fn check_secret(text: &str) -> Result<SigningSecret, Invalid> {
    SigningSecret::parse(text).map_err(|error| Invalid::field("secret", error.to_string()))
}

/// Whether a text can name something.
#[must_use]
pub fn is_name(text: &str) -> bool {
    (1..=MAX_NAME_CHARS).contains(&text.chars().count()) && !text.chars().any(char::is_control)
}

fn is_email(text: &str) -> bool {
    let plain = text.len() <= MAX_EMAIL_BYTES
        && text.chars().all(|c| !c.is_control() && !c.is_whitespace());
    plain
        && text.rsplit_once('@').is_some_and(|(user, host)| {
            !user.is_empty() && !host.is_empty() && !host.starts_with('.') && !host.ends_with('.')
        })
        && !text.contains(['<', '>', ',', ';'])
}
