//! The fields of the API's documents that the command shows. Fields added by a newer gateway are ignored.

use std::collections::BTreeMap;

use postrider_domain::retry::{Profile, RetrySettings, RuntimeRetry};
use postrider_domain::time::Millis;
use serde::Deserialize;

use crate::hidden::Hidden;
use crate::table::Mark;

/// The response to a published event.
#[derive(Debug, Deserialize)]
pub(crate) struct Published {
    pub(crate) id: String,
    /// Whether the idempotency key was already used for the same request.
    #[serde(default)]
    pub(crate) duplicate: bool,
    pub(crate) deliveries: Vec<Planned>,
}

/// One delivery of a published event.
#[derive(Debug, Deserialize)]
pub(crate) struct Planned {
    pub(crate) id: String,
    pub(crate) webhook_id: String,
}

/// A delivery. Only a request for a single delivery returns attempts and payload.
#[derive(Debug, Deserialize)]
pub(crate) struct Delivery {
    pub(crate) id: String,
    pub(crate) event_id: String,
    pub(crate) event_type: String,
    pub(crate) webhook_id: String,
    pub(crate) session_id: Option<String>,
    pub(crate) target_url: Option<String>,
    pub(crate) status: String,
    pub(crate) attempt_count: u32,
    pub(crate) max_attempts: u32,
    pub(crate) last_attempted_at: Option<String>,
    pub(crate) next_retry_at: Option<String>,
    pub(crate) created_at: String,
    pub(crate) error_detail: Option<String>,
    pub(crate) dead_cause: Option<String>,
    pub(crate) content_type: Option<String>,
    pub(crate) payload: Option<String>,
    pub(crate) payload_base64: Option<String>,
    pub(crate) why: Option<Why>,
    pub(crate) request: Option<Request>,
    #[serde(default)]
    pub(crate) attempts: Vec<Attempt>,
}

impl Delivery {
    /// Whether nothing more happens unless an operator retries it.
    pub(crate) fn is_settled(&self) -> bool {
        self.status == "delivered" || self.status == "dead"
    }

    pub(crate) fn is_delivered(&self) -> bool {
        self.status == "delivered"
    }

    pub(crate) fn mark(&self) -> Mark {
        delivery_mark(&self.status)
    }

    /// `2 of 5`.
    pub(crate) fn tries(&self) -> String {
        format!("{} of {}", self.attempt_count, self.max_attempts)
    }
}

pub(crate) fn delivery_mark(status: &str) -> Mark {
    match status {
        "delivered" => Mark::Good,
        "failed" => Mark::Retrying,
        "dead" => Mark::Bad,
        _ => Mark::Waiting,
    }
}

/// Why a delivery has not arrived, as the gateway explains it.
#[derive(Debug, Deserialize)]
pub(crate) struct Why {
    pub(crate) title: String,
    pub(crate) meaning: String,
    pub(crate) advice: Vec<String>,
    pub(crate) outlook: String,
}

/// The last request sent, or the first one to send.
#[derive(Debug, Deserialize)]
pub(crate) struct Request {
    pub(crate) target_url: String,
    pub(crate) headers: Vec<Header>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Header {
    pub(crate) name: String,
    pub(crate) value: String,
}

/// One POST of a delivery.
#[derive(Debug, Deserialize)]
pub(crate) struct Attempt {
    pub(crate) number: u32,
    pub(crate) at: String,
    pub(crate) status_code: Option<u16>,
    pub(crate) elapsed_ms: Option<u64>,
    pub(crate) error: Option<String>,
    pub(crate) phase: Option<String>,
    pub(crate) response_body: Option<String>,
    #[serde(default)]
    pub(crate) timings: Timings,
}

/// How long each phase of an attempt took; phases that did not happen are missing.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Timings {
    dns_ms: Option<u64>,
    connect_ms: Option<u64>,
    tls_ms: Option<u64>,
    first_byte_ms: Option<u64>,
    body_ms: Option<u64>,
}

impl Timings {
    /// The phases that happened, in order: name and milliseconds.
    pub(crate) fn phases(&self) -> Vec<(&'static str, u64)> {
        let phases = [
            ("dns", self.dns_ms),
            ("connect", self.connect_ms),
            ("tls", self.tls_ms),
            ("first byte", self.first_byte_ms),
            ("body", self.body_ms),
        ];
        let happened = phases
            .into_iter()
            .filter_map(|(phase, ms)| Some((phase, ms?)));
        happened.collect()
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct Webhook {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) target_url: String,
    pub(crate) event_types: Vec<String>,
    pub(crate) status: String,
    #[serde(default)]
    pub(crate) failure_count: u64,
    pub(crate) status_reason: Option<String>,
    #[serde(default)]
    pub(crate) secret_expires: Vec<String>,
    pub(crate) secret: Option<Hidden>,
    pub(crate) owner_email: Option<String>,
    pub(crate) headers: Option<BTreeMap<String, String>>,
    pub(crate) timeout_seconds: Option<u32>,
    pub(crate) retry_rate: Option<u32>,
    pub(crate) current_rate: Option<f64>,
    pub(crate) auto_resume: Option<bool>,
    #[serde(rename = "next_test_at")]
    pub(crate) next_probe_at: Option<String>,
    pub(crate) last_failure: Option<LastFailure>,
    pub(crate) retry: Option<serde_json::Value>,
    pub(crate) created_at: Option<String>,
    pub(crate) updated_at: Option<String>,
}

/// The most recent failed attempt of a webhook.
#[derive(Debug, Deserialize)]
pub(crate) struct LastFailure {
    pub(crate) delivery_id: String,
    pub(crate) error: String,
    pub(crate) at: String,
}

impl Webhook {
    pub(crate) fn mark(&self) -> Mark {
        match self.status.as_str() {
            "active" if self.failure_count == 0 => Mark::Good,
            "active" => Mark::Retrying,
            "paused" => Mark::Waiting,
            _ => Mark::Bad,
        }
    }

    /// The status, with a note if attempts are failing.
    pub(crate) fn state(&self) -> String {
        match (self.status.as_str(), self.failure_count) {
            ("active", 1) => "active, degraded: the last attempt failed".to_owned(),
            ("active", n) if n > 1 => format!("active, degraded: the last {n} attempts failed"),
            (status, _) => status.to_owned(),
        }
    }

    /// The retry settings, if this version of the command can read them.
    pub(crate) fn retry_settings(&self) -> Option<RetrySettings> {
        serde_json::from_value(self.retry.clone()?)
            .ok()
            .map(without_defaults)
    }
}

/// The gateway returns every effective value. Values that equal the profile's defaults are removed, because a value
/// that is set explicitly stays when the defaults or the gateway's settings change.
fn without_defaults(shown: RetrySettings) -> RetrySettings {
    let brought = RetrySettings {
        profile: shown.profile,
        delays_seconds: shown
            .delays_seconds
            .clone()
            .filter(|_| shown.profile == Profile::Custom),
        ..RetrySettings::default()
    };
    let (policy, max_attempts) = (
        brought.policy(RuntimeRetry::default()),
        brought.max_attempts(),
    );
    let delays = |delays: &Vec<u32>| {
        delays
            .iter()
            .map(|s| Millis::from_seconds(u64::from(*s)))
            .eq(policy.delays.iter().copied())
    };
    let backoff = |s: &u32| Millis::from_seconds(u64::from(*s)) == policy.max_backoff;
    RetrySettings {
        profile: shown.profile,
        max_attempts: shown.max_attempts.filter(|n| *n != max_attempts),
        jitter_bps: shown.jitter_bps.filter(|bps| *bps != policy.jitter_bps),
        delays_seconds: shown
            .delays_seconds
            .filter(|given| shown.profile == Profile::Custom || !delays(given)),
        max_backoff_seconds: shown.max_backoff_seconds.filter(|s| !backoff(s)),
        classifier: shown
            .classifier
            .filter(|classifier| *classifier != policy.classifier),
        redirects: shown
            .redirects
            .filter(|redirects| *redirects != policy.redirects),
        on_exhausted: shown
            .on_exhausted
            .filter(|then| *then != policy.on_exhausted),
    }
}

/// The response to a rotation.
#[derive(Debug, Deserialize)]
pub(crate) struct Rotated {
    pub(crate) secret: Hidden,
    pub(crate) previous_expires_at: String,
}

/// A bulk retry.
#[derive(Debug, Deserialize)]
pub(crate) struct Job {
    pub(crate) id: Option<String>,
    pub(crate) matched: u64,
    pub(crate) state: Option<String>,
    pub(crate) done: Option<u64>,
    pub(crate) failed: Option<u64>,
}

impl Job {
    pub(crate) fn is_running(&self) -> bool {
        self.state.as_deref() == Some("running")
    }
}

/// An API key. The token is present only in the response that creates it.
#[derive(Debug, Deserialize)]
pub(crate) struct Key {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) scopes: Vec<String>,
    pub(crate) token: Option<Hidden>,
    pub(crate) tenant: Option<String>,
    pub(crate) created_at: Option<String>,
    pub(crate) last_used_at: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_settings_that_differ_from_the_profile_remain() {
        for (profile, attempts) in [
            (Profile::Gateway, 5),
            (Profile::PublicApi, 6),
            (Profile::Standard, 10),
        ] {
            let plain = RetrySettings {
                profile,
                ..RetrySettings::default()
            };
            let policy = plain.policy(RuntimeRetry::default());
            let seconds = |span: &Millis| u32::try_from(span.get() / 1000).unwrap();
            let shown = RetrySettings {
                profile,
                max_attempts: Some(attempts),
                jitter_bps: Some(policy.jitter_bps),
                delays_seconds: Some(policy.delays.iter().map(seconds).collect()),
                max_backoff_seconds: Some(seconds(&policy.max_backoff)),
                classifier: Some(policy.classifier),
                redirects: Some(policy.redirects),
                on_exhausted: Some(policy.on_exhausted),
            };
            assert_eq!(without_defaults(shown.clone()), plain);
            let changed = RetrySettings {
                max_attempts: Some(7),
                jitter_bps: Some(1),
                ..plain
            };
            let shown = RetrySettings {
                max_attempts: Some(7),
                jitter_bps: Some(1),
                ..shown
            };
            assert_eq!(without_defaults(shown), changed);
        }
    }

    #[test]
    fn custom_delays_remain() {
        let delays_seconds = Some(vec![1, 2]);
        let custom = RetrySettings {
            profile: Profile::Custom,
            delays_seconds,
            ..RetrySettings::default()
        };
        let shown = RetrySettings {
            max_attempts: Some(3),
            jitter_bps: Some(0),
            ..custom.clone()
        };
        assert_eq!(without_defaults(shown), custom);
    }
}
