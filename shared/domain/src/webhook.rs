//! A webhook: an outbound destination and its settings.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use crate::egress::Rules;
use crate::flow::{CEILING_MILLI, Limits};
use crate::headers::CustomHeaders;
use crate::health::{Health, WebhookStatus};
use crate::ids::{TenantId, WebhookId};
use crate::invalid::Invalid;
use crate::pattern::{EventType, Pattern};
use crate::payload_filter::{Payload, PayloadFilter};
use crate::retry::RetrySettings;
use crate::secret::{SecretRing, SigningSecret};
use crate::template::{Template, TemplateDraft};
use crate::time::{Millis, Timestamp};

/// The maximum per tenant.
pub const MAX_WEBHOOKS: usize = 1000;
/// The maximum number of event-type patterns per webhook.
pub const MAX_PATTERNS: usize = 100;
pub const MAX_NAME_CHARS: usize = 100;
pub const MAX_EMAIL_BYTES: usize = 254;
/// How long resolving the name, connecting and the TLS handshake may take together. The webhook's timeout begins after
/// that.
pub const CONNECT_TIMEOUT: Millis = Millis::from_seconds(5);
/// The default time from the established connection to the end of the response.
pub const DEFAULT_TIMEOUT_SECONDS: u32 = 10;
pub const MAX_TIMEOUT_SECONDS: u32 = 30;
/// The default number of retries per second.
pub const DEFAULT_RETRY_RATE: u32 = 5;
pub const MAX_RETRY_RATE: u32 = 10_000;
/// The fastest `max_rate`: a limiter never goes faster.
pub const FASTEST_MAX_RATE: u32 = CEILING_MILLI / 1000;
/// The largest `max_in_flight`: what one webhook gets without it.
pub const LARGEST_MAX_IN_FLIGHT: u32 = 128;

/// The longest that an attempt with this timeout takes. Leases, start guards and the function's timeout follow from it.
#[must_use]
pub const fn longest_attempt(timeout: Millis) -> Millis {
    CONNECT_TIMEOUT.plus(timeout)
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Webhook {
    pub id: WebhookId,
    pub tenant: TenantId,
    pub settings: WebhookSettings,
    pub secrets: SecretRing,
    pub created_at: Timestamp,
    /// When its settings or secrets last changed.
    pub updated_at: Timestamp,
    pub health: Health,
}

impl Webhook {
    /// Whether it subscribes to this event type.
    #[must_use]
    pub fn wants(&self, event_type: &EventType) -> bool {
        self.health.status != WebhookStatus::Disabled
            && self
                .settings
                .event_types
                .iter()
                .any(|pattern| pattern.matches(event_type))
    }

    /// Whether its filter lets this payload through.
    #[must_use]
    pub fn admits(&self, payload: &Payload) -> bool {
        let filter = self.settings.filter.as_ref();
        filter.is_none_or(|filter| filter.matches(payload))
    }
}

/// A webhook's settings, validated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookSettings {
    pub name: String,
    /// As serialised after validation.
    pub target_url: Url,
    pub event_types: Vec<Pattern>,
    /// Which payloads it gets; all of them without one.
    pub filter: Option<PayloadFilter>,
    /// What is sent instead of the event's own bytes.
    pub template: Option<Template>,
    /// Gets an e-mail when the webhook fails.
    pub owner_email: Option<String>,
    pub headers: CustomHeaders,
    /// Of a whole attempt, connecting included.
    pub timeout: Millis,
    /// Retries per second.
    pub retry_rate: u32,
    /// The maximum for all attempts, per second.
    pub max_rate: Option<u32>,
    /// The maximum number of attempts at the same time.
    pub max_in_flight: Option<u32>,
    /// Whether a failed webhook is probed and resumed automatically.
    pub auto_resume: bool,
    pub retry: RetrySettings,
}

impl WebhookSettings {
    /// What limits its attempts.
    #[must_use]
    pub const fn limits(&self) -> Limits {
        Limits {
            retry_rate: self.retry_rate,
            ramp: self.retry.retry_ramp(),
            max_rate: self.max_rate,
            max_in_flight: self.max_in_flight,
        }
    }
}

/// A webhook's settings as submitted, not validated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebhookDraft {
    /// 1 to 100 characters.
    pub name: String,
    /// An https URL that egress rules allow.
    pub target_url: String,
    /// 1 to 100 patterns.
    pub event_types: Vec<String>,
    /// An event pattern over the payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<Value>,
    /// What is sent instead of the event's own bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<TemplateDraft>,
    /// An e-mail address.
    #[serde(default)]
    pub owner_email: Option<String>,
    /// At most 32 headers, 8 KiB in total.
    #[serde(default)]
    pub headers: Option<std::collections::BTreeMap<String, String>>,
    /// 1 to 30.
    #[serde(default)]
    pub timeout_seconds: Option<u32>,
    /// 1 to 10,000 per second.
    #[serde(default)]
    pub retry_rate: Option<u32>,
    /// 1 to 1,000 per second; no maximum unless set.
    #[serde(default)]
    pub max_rate: Option<u32>,
    /// 1 to 128; no maximum unless set.
    #[serde(default)]
    pub max_in_flight: Option<u32>,
    /// Off unless set.
    #[serde(default)]
    pub auto_resume: Option<bool>,
    /// The profile `gateway` unless set.
    #[serde(default)]
    pub retry: Option<RetrySettings>,
}

impl WebhookDraft {
    ///
    /// # Errors
    /// Returns all errors at once.
    pub fn check(self, rules: &Rules) -> Result<WebhookSettings, Invalid> {
        self.check_for(rules, FASTEST_MAX_RATE)
    }

    /// For a gateway that keeps to no faster `max_rate` than this.
    ///
    /// # Errors
    /// Returns all errors at once.
    pub fn check_for(
        self,
        rules: &Rules,
        fastest_max_rate: u32,
    ) -> Result<WebhookSettings, Invalid> {
        let mut faults = Invalid::default();
        let name = self.name.trim().to_owned();
        faults.require(is_name(&name), "name", || {
            format!("must be 1 to {MAX_NAME_CHARS} characters, without control characters")
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
        let filter = self.filter.and_then(|source| {
            let compiled = PayloadFilter::compile("filter", source);
            compiled.map_err(|found| faults.extend(found)).ok()
        });
        let template = self.template.and_then(|draft| {
            let checked = draft.check("template");
            checked.map_err(|found| faults.extend(found)).ok()
        });
        faults.require(
            self.owner_email.as_deref().is_none_or(is_email),
            "owner_email",
            || format!("must be an e-mail address of at most {MAX_EMAIL_BYTES} bytes"),
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
            || format!("must be 1 to {MAX_RETRY_RATE} per second"),
        );
        let fits = |n: u32| (1..=fastest_max_rate).contains(&n);
        faults.require(self.max_rate.is_none_or(fits), "max_rate", || {
            format!("must be 1 to {fastest_max_rate} attempts per second")
        });
        let fits = |n: u32| (1..=LARGEST_MAX_IN_FLIGHT).contains(&n);
        faults.require(self.max_in_flight.is_none_or(fits), "max_in_flight", || {
            format!("must be 1 to {LARGEST_MAX_IN_FLIGHT} attempts")
        });
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
                    filter,
                    template,
                    owner_email: self.owner_email,
                    headers,
                    timeout: Millis::from_seconds(u64::from(timeout)),
                    retry_rate,
                    max_rate: self.max_rate,
                    max_in_flight: self.max_in_flight,
                    auto_resume: self.auto_resume.unwrap_or(false),
                    retry,
                })
            }
            None => Err(faults),
        }
    }
}

/// Validates a secret that the owner supplies.
///
/// # Errors
/// Under `secret`, if it does not have the required format.
pub fn check_secret(text: &str) -> Result<SigningSecret, Invalid> {
    SigningSecret::parse(text).map_err(|error| Invalid::field("secret", error.to_string()))
}

/// Whether a text is usable as a name.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::health::StatusReason;

    fn draft() -> WebhookDraft {
        WebhookDraft {
            name: "w".to_owned(),
            target_url: "https://receiver.example/".to_owned(),
            event_types: vec!["task.*".to_owned(), "order.paid".to_owned()],
            ..WebhookDraft::default()
        }
    }

    #[test]
    fn a_limiter_goes_at_most_1000_times_a_second() {
        assert_eq!(FASTEST_MAX_RATE, 1_000);
    }

    #[test]
    fn an_attempt_may_take_as_long_as_connecting_and_its_timeout_together() {
        assert_eq!(longest_attempt(Millis::ZERO), Millis::from_seconds(5));
        let longest = longest_attempt(Millis::from_seconds(30));
        assert_eq!(longest, Millis::from_seconds(35));
    }

    #[test]
    fn a_webhook_wants_what_matches_one_of_its_patterns_unless_it_is_disabled() {
        let webhook = |status| Webhook {
            id: WebhookId::from_bytes([1; 16]),
            tenant: TenantId::default(),
            settings: draft().check(&Rules::default()).unwrap(),
            secrets: SecretRing::new(SigningSecret::from_key(&[1; 32])),
            created_at: Timestamp::ZERO,
            updated_at: Timestamp::ZERO,
            health: Health::default().stopped(status, 0, StatusReason::Gone, Timestamp::ZERO),
        };
        for status in WebhookStatus::ALL {
            let webhook = webhook(status);
            let wants = |text: &str| webhook.wants(&text.parse().unwrap());
            let is_enabled = status != WebhookStatus::Disabled;
            assert_eq!(wants("task.completed"), is_enabled, "{status:?}");
            assert_eq!(wants("order.paid"), is_enabled, "{status:?}");
            assert!(!wants("order.cancelled"), "{status:?}");
        }
    }

    #[test]
    fn an_owner_has_one_plain_address_that_fits() {
        let accepts = |address: &str| {
            let given = WebhookDraft {
                owner_email: Some(address.to_owned()),
                ..draft()
            };
            let checked = given.check(&Rules::default());
            checked.is_ok_and(|settings| settings.owner_email.as_deref() == Some(address))
        };
        let host = "@host.example";
        let of_length = |bytes: usize| "a".repeat(bytes - host.len()) + host;
        let longest = of_length(MAX_EMAIL_BYTES);
        for good in [
            "a@b",
            "ops+webhooks@mail.host.example",
            "\"a@b\"@host.example",
            "jürgen@müller.example",
            &longest,
        ] {
            assert!(accepts(good), "{good}");
        }
        let too_long = of_length(MAX_EMAIL_BYTES + 1);
        for bad in [
            "",
            "owner",
            "@",
            "@host.example",
            "owner@",
            "owner@.host.example",
            "owner@host.example.",
            "own er@host.example",
            "owner@host.example\u{a0}",
            "owner\r\n@host.example",
            "owner\0@host.example",
            "Owner <owner@host.example>",
            "<owner@host.example",
            "owner@host.example>",
            "a@host.example,b@host.example",
            "a@host.example;b@host.example",
            &too_long,
        ] {
            assert!(!accepts(bad), "{bad:?}");
        }
    }
}
