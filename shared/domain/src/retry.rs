//! How often and when a failed delivery is retried: profiles, their overrides, and the arithmetic.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::flow::Ramp;
use crate::invalid::Invalid;
use crate::time::Millis;

pub const MAX_DELAYS: usize = 100;
pub const MAX_ATTEMPTS: u32 = 100;
/// A week.
pub const MAX_DELAY_SECONDS: u32 = 604_800;
/// 100 % in basis points.
pub const BPS_WHOLE: u16 = 10_000;
/// The default for the longest delay, in seconds.
pub const DEFAULT_MAX_BACKOFF_SECONDS: u32 = 86_400;

/// A named set of defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// UC-0268: 30 s, 2 m, 10 m, 1 h; every failure is retried; dead on the fifth.
    #[default]
    Gateway,
    /// ADR-0040: 5ⁿ seconds; retried by status; the webhook fails when a delivery is exhausted.
    PublicApi,
    /// The multi-day schedule that the Standard Webhooks guide recommends.
    Standard,
    /// `gateway` with custom delays.
    Custom,
}

impl Profile {
    pub const ALL: [Self; 4] = [Self::Gateway, Self::PublicApi, Self::Standard, Self::Custom];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Gateway => "gateway",
            Self::PublicApi => "public-api",
            Self::Standard => "standard",
            Self::Custom => "custom",
        }
    }

    const fn delays_seconds(self) -> &'static [u32] {
        match self {
            Self::Gateway | Self::Custom => &[30, 120, 600, 3600, 21_600],
            Self::PublicApi => &[5, 25, 125, 625, 3125],
            Self::Standard => &[5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400],
        }
    }

    /// The document behind `gateway` allows no more than its retry rate.
    const fn retry_ramp(self) -> Ramp {
        match self {
            Self::PublicApi | Self::Standard => Ramp::On,
            Self::Gateway | Self::Custom => Ramp::Off,
        }
    }

    const fn max_attempts(self) -> u32 {
        match self {
            Self::Gateway | Self::Custom => 5,
            Self::PublicApi => 6,
            Self::Standard => 10,
        }
    }

    const fn jitter_bps(self) -> u16 {
        match self {
            Self::Gateway | Self::Custom => 0,
            Self::PublicApi => 1000,
            Self::Standard => 2000,
        }
    }

    const fn classifier(self) -> Classifier {
        match self {
            Self::Gateway | Self::Custom => Classifier::EveryFailure,
            Self::PublicApi | Self::Standard => Classifier::ByStatus,
        }
    }

    const fn redirects(self) -> Redirects {
        match self {
            Self::Gateway | Self::Custom | Self::PublicApi => Redirects::Delivered,
            Self::Standard => Redirects::Failure,
        }
    }

    const fn retry_after(self) -> OnRetryAfter {
        match self {
            Self::Gateway | Self::Custom => OnRetryAfter::Ignore,
            Self::PublicApi => OnRetryAfter::Instead,
            Self::Standard => OnRetryAfter::AtLeast,
        }
    }

    const fn on_exhausted(self) -> OnExhausted {
        match self {
            Self::Gateway | Self::Custom | Self::Standard => OnExhausted::DeadLetter,
            Self::PublicApi => OnExhausted::FailWebhook,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Classifier {
    /// Everything except 2xx.
    EveryFailure,
    /// 429, 5xx and network errors; other responses are permanent.
    ByStatus,
}

impl Classifier {
    pub const ALL: [Self; 2] = [Self::EveryFailure, Self::ByStatus];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::EveryFailure => "every-failure",
            Self::ByStatus => "by-status",
        }
    }
}

/// How a 3xx counts under [`Classifier::ByStatus`]. Redirects are never followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Redirects {
    /// As delivered.
    Delivered,
    /// As a failure that is retried.
    Failure,
}

impl Redirects {
    pub const ALL: [Self; 2] = [Self::Delivered, Self::Failure];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Failure => "failure",
        }
    }
}

/// How the `Retry-After` header of a 429 or 503 counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnRetryAfter {
    /// The receiver's delay replaces the scheduled one. A short one uses up the attempts early.
    Instead,
    /// The longer of both delays.
    AtLeast,
    Ignore,
}

impl OnRetryAfter {
    pub const ALL: [Self; 3] = [Self::Instead, Self::AtLeast, Self::Ignore];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Instead => "instead",
            Self::AtLeast => "at-least",
            Self::Ignore => "ignore",
        }
    }
}

/// What happens to the webhook when a delivery has used up its attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnExhausted {
    /// The delivery is dead and the webhook stays active.
    DeadLetter,
    /// The webhook fails until an operator resumes it.
    FailWebhook,
}

impl OnExhausted {
    pub const ALL: [Self; 2] = [Self::DeadLetter, Self::FailWebhook];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::DeadLetter => "dead-letter",
            Self::FailWebhook => "fail-webhook",
        }
    }
}

/// A profile and the webhook's overrides, as submitted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetrySettings {
    #[serde(default)]
    pub profile: Profile,
    /// 1 to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// 0 to 10,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter_bps: Option<u16>,
    /// 1 to 100 values of 1 to 604,800.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delays_seconds: Option<Vec<u32>>,
    /// 1 to 604,800.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_backoff_seconds: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classifier: Option<Classifier>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirects: Option<Redirects>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<OnRetryAfter>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_ramp: Option<Ramp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_exhausted: Option<OnExhausted>,
}

impl RetrySettings {
    ///
    /// # Errors
    /// Returns all errors, each under `retry.<field>`.
    pub fn check(&self) -> Result<(), Invalid> {
        let mut faults = Invalid::default();
        let in_range = |n: u32, max: u32| (1..=max).contains(&n);
        faults.require(
            self.max_attempts.is_none_or(|n| in_range(n, MAX_ATTEMPTS)),
            "retry.max_attempts",
            || format!("must be 1 to {MAX_ATTEMPTS}"),
        );
        faults.require(
            self.jitter_bps.is_none_or(|n| n <= BPS_WHOLE),
            "retry.jitter_bps",
            || format!("must be 0 to {BPS_WHOLE}"),
        );
        faults.require(
            self.max_backoff_seconds
                .is_none_or(|n| in_range(n, MAX_DELAY_SECONDS)),
            "retry.max_backoff_seconds",
            || format!("must be 1 to {MAX_DELAY_SECONDS}"),
        );
        match &self.delays_seconds {
            Some(delays) => {
                let fits = (1..=MAX_DELAYS).contains(&delays.len())
                    && delays.iter().all(|n| in_range(*n, MAX_DELAY_SECONDS));
                faults.require(fits, "retry.delays_seconds", || {
                    format!("must be 1 to {MAX_DELAYS} values of 1 to {MAX_DELAY_SECONDS}")
                });
            }
            None => faults.require(
                self.profile != Profile::Custom,
                "retry.delays_seconds",
                || "is required by the profile `custom`".to_owned(),
            ),
        }
        faults.into_result()
    }

    /// The policy of one decision: the profile, the webhook's overrides and the gateway's settings.
    #[must_use]
    pub fn policy(&self, runtime: RuntimeRetry) -> Policy {
        let delays = self
            .delays_seconds
            .as_deref()
            .unwrap_or_else(|| self.profile.delays_seconds());
        let max_backoff = self
            .max_backoff_seconds
            .unwrap_or(DEFAULT_MAX_BACKOFF_SECONDS);
        Policy {
            delays: delays
                .iter()
                .map(|s| Millis::from_seconds(u64::from(*s)))
                .collect(),
            max_backoff: Millis::from_seconds(u64::from(max_backoff)),
            jitter_bps: self
                .jitter_bps
                .or(runtime.jitter_bps)
                .unwrap_or_else(|| self.profile.jitter_bps()),
            classifier: self.classifier.unwrap_or_else(|| self.profile.classifier()),
            redirects: self.redirects.unwrap_or_else(|| self.profile.redirects()),
            retry_after: self
                .retry_after
                .unwrap_or_else(|| self.profile.retry_after()),
            on_exhausted: self
                .on_exhausted
                .unwrap_or_else(|| self.profile.on_exhausted()),
            budget: runtime.budget,
        }
    }

    /// Whether retries may go faster than the webhook's `retry_rate`.
    #[must_use]
    pub const fn retry_ramp(&self) -> Ramp {
        match self.retry_ramp {
            Some(ramp) => ramp,
            None => self.profile.retry_ramp(),
        }
    }

    /// The maximum number of attempts of a row that is accepted now.
    #[must_use]
    pub fn max_attempts(&self) -> u32 {
        let of_profile = match (self.profile, &self.delays_seconds) {
            (Profile::Custom, Some(delays)) => u32::try_from(delays.len())
                .unwrap_or(MAX_ATTEMPTS)
                .saturating_add(1),
            _ => self.profile.max_attempts(),
        };
        self.max_attempts
            .unwrap_or(of_profile)
            .clamp(1, MAX_ATTEMPTS)
    }
}

/// The gateway's retry settings, for every webhook, read at start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RuntimeRetry {
    /// Replaces the profile's jitter for webhooks that do not set their own.
    pub jitter_bps: Option<u16>,
    /// The maximum number of retries per delivery, whatever its row says.
    pub budget: RetryBudget,
}

/// A runtime cap on retries; 0 is off. It lowers the effective maximum and never raises it, and is not stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RetryBudget(pub u32);

impl RetryBudget {
    /// The effective maximum number of attempts for a row.
    #[must_use]
    pub const fn effective_max(self, of_row: u32) -> u32 {
        let capped = self.0.saturating_add(1);
        if self.0 == 0 || of_row < capped {
            of_row
        } else {
            capped
        }
    }
}

/// Everything that a decision depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The delay after failure 1, 2, …; the last one repeats.
    pub delays: Arc<[Millis]>,
    /// The longest delay.
    pub max_backoff: Millis,
    /// How far a delay may deviate from the schedule in either direction.
    pub jitter_bps: u16,
    pub classifier: Classifier,
    pub redirects: Redirects,
    pub retry_after: OnRetryAfter,
    pub on_exhausted: OnExhausted,
    pub budget: RetryBudget,
}

/// A random number that places a delay within its jitter: 0 is the earliest, `u32::MAX` the latest. A value instead
/// of a generator, so that a decision can be replayed from its log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Jitter(pub u32);

impl Jitter {
    /// The middle: practically no deviation.
    pub const NONE: Self = Self(u32::MAX / 2);
}

/// The shortest delay that a receiver can ask for: without it, `Retry-After: 0` would use up all attempts at once.
const MIN_RETRY_AFTER: Millis = Millis::from_seconds(1);

impl Policy {
    /// The delay after failure number `failures` when the receiver asked for `asked`, which is not jittered.
    #[must_use]
    pub fn delay(&self, failures: u32, asked: Option<Millis>, jitter: Jitter) -> Millis {
        let scheduled = self.backoff(failures, jitter);
        let Some(asked) = asked else {
            return scheduled;
        };
        let asked = asked.clamp(MIN_RETRY_AFTER.min(self.max_backoff), self.max_backoff);
        match self.retry_after {
            OnRetryAfter::Instead => asked,
            OnRetryAfter::AtLeast => asked.max(scheduled),
            OnRetryAfter::Ignore => scheduled,
        }
    }

    /// The delay after failure number `failures` (from 1): taken from the schedule, with jitter within
    /// `base × (1 ± jitter_bps / 10 000)`, clamped to `(0, max_backoff]`.
    #[must_use]
    pub fn backoff(&self, failures: u32, jitter: Jitter) -> Millis {
        let nth = usize::try_from(failures.max(1) - 1).unwrap_or(usize::MAX);
        let base = self
            .delays
            .get(nth)
            .or_else(|| self.delays.last())
            .copied()
            .unwrap_or(self.max_backoff);
        jittered(base, self.jitter_bps, jitter, self.max_backoff)
    }
}

fn jittered(base: Millis, jitter_bps: u16, Jitter(drawn): Jitter, max: Millis) -> Millis {
    let base = u128::from(base.get());
    let spread = base * u128::from(jitter_bps.min(BPS_WHOLE)) / u128::from(BPS_WHOLE);
    let earliest = base - spread;
    let offset = 2 * spread * u128::from(drawn) / u128::from(u32::MAX);
    let delay = u64::try_from(earliest + offset).unwrap_or(u64::MAX);
    Millis::new(delay.min(max.get()).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_are_the_same_in_the_api_and_in_the_store() {
        fn stored<T: Serialize>(value: T) -> serde_json::Value {
            serde_json::to_value(value).unwrap()
        }
        for one in Profile::ALL {
            assert_eq!(stored(one), one.as_str());
        }
        for one in Classifier::ALL {
            assert_eq!(stored(one), one.as_str());
        }
        for one in Redirects::ALL {
            assert_eq!(stored(one), one.as_str());
        }
        for one in OnRetryAfter::ALL {
            assert_eq!(stored(one), one.as_str());
        }
        for one in Ramp::ALL {
            assert_eq!(stored(one), one.as_str());
        }
        for one in OnExhausted::ALL {
            assert_eq!(stored(one), one.as_str());
        }
    }

    fn seconds(policy: &Policy, attempts: u32) -> Vec<u64> {
        (1..attempts)
            .map(|n| policy.backoff(n, Jitter::NONE).get() / 1000)
            .collect()
    }

    #[test]
    fn profiles_have_the_documents_schedules() {
        let schedule = |profile| {
            let settings = RetrySettings {
                profile,
                jitter_bps: Some(0),
                ..RetrySettings::default()
            };
            (
                seconds(
                    &settings.policy(RuntimeRetry::default()),
                    settings.max_attempts(),
                ),
                settings.max_attempts(),
            )
        };
        assert_eq!(schedule(Profile::Gateway), (vec![30, 120, 600, 3600], 5));
        assert_eq!(
            schedule(Profile::PublicApi),
            (vec![5, 25, 125, 625, 3125], 6)
        );
        let (standard, attempts) = schedule(Profile::Standard);
        assert_eq!(attempts, 10);
        assert_eq!(standard.iter().sum::<u64>(), 75 * 3600 + 35 * 60 + 5);
    }

    #[test]
    fn the_middle_of_its_jitter_is_the_delay_of_the_schedule() {
        let (base, longest) = (Millis::from_seconds(30), Millis::from_seconds(3600));
        let delay = jittered(base, 2_000, Jitter::NONE, longest).get();
        assert!((29_999..=30_000).contains(&delay), "{delay}");
    }

    #[test]
    fn six_attempts_of_the_gateway_profile_use_the_six_hour_delay() {
        let settings = RetrySettings {
            max_attempts: Some(6),
            ..RetrySettings::default()
        };
        assert_eq!(
            seconds(&settings.policy(RuntimeRetry::default()), 6),
            [30, 120, 600, 3600, 21_600]
        );
    }

    #[test]
    fn custom_needs_delays_and_gives_one_attempt_more() {
        let mut settings = RetrySettings {
            profile: Profile::Custom,
            ..RetrySettings::default()
        };
        assert!(settings.check().is_err());
        settings.delays_seconds = Some(vec![1, 2]);
        assert_eq!(settings.check(), Ok(()));
        assert_eq!(settings.max_attempts(), 3);
        settings.max_attempts = Some(7);
        assert_eq!(settings.max_attempts(), 7);
        assert_eq!(
            seconds(&settings.policy(RuntimeRetry::default()), 7),
            [1, 2, 2, 2, 2, 2],
            "the last repeats"
        );
    }

    #[test]
    fn every_bad_field_is_named() {
        let settings = RetrySettings {
            max_attempts: Some(101),
            jitter_bps: Some(10_001),
            delays_seconds: Some(vec![]),
            max_backoff_seconds: Some(0),
            ..RetrySettings::default()
        };
        let fields: Vec<_> = settings
            .check()
            .unwrap_err()
            .into_fields()
            .into_iter()
            .map(|f| f.field)
            .collect();
        assert_eq!(
            fields,
            [
                "retry.max_attempts",
                "retry.jitter_bps",
                "retry.max_backoff_seconds",
                "retry.delays_seconds"
            ]
        );
    }

    #[test]
    fn settings_stored_without_retry_after_use_the_profiles_default() {
        for (profile, expected) in [
            ("gateway", OnRetryAfter::Ignore),
            ("public-api", OnRetryAfter::Instead),
            ("standard", OnRetryAfter::AtLeast),
            ("custom", OnRetryAfter::Ignore),
        ] {
            let stored = serde_json::json!({ "profile": profile, "delays_seconds": [1] });
            let settings: RetrySettings = serde_json::from_value(stored.clone()).unwrap();
            let policy = settings.policy(RuntimeRetry::default());
            assert_eq!(policy.retry_after, expected, "{profile}");
            assert_eq!(serde_json::to_value(&settings).unwrap(), stored);
        }
    }

    #[test]
    fn the_profile_decides_about_the_ramp_unless_the_webhook_does() {
        for profile in Profile::ALL {
            let mut settings = RetrySettings {
                profile,
                ..RetrySettings::default()
            };
            let ramps = matches!(profile, Profile::PublicApi | Profile::Standard);
            let expected = if ramps { Ramp::On } else { Ramp::Off };
            assert_eq!(settings.retry_ramp(), expected, "{profile:?}");
            for own in Ramp::ALL {
                settings.retry_ramp = Some(own);
                assert_eq!(settings.retry_ramp(), own, "{profile:?}");
            }
        }
    }

    #[test]
    fn the_gateways_jitter_counts_only_where_the_webhook_names_none() {
        let runtime = RuntimeRetry {
            jitter_bps: Some(500),
            ..RuntimeRetry::default()
        };
        let mut settings = RetrySettings {
            profile: Profile::PublicApi,
            ..RetrySettings::default()
        };
        assert_eq!(settings.policy(runtime).jitter_bps, 500);
        assert_eq!(settings.policy(RuntimeRetry::default()).jitter_bps, 1000);
        settings.jitter_bps = Some(0);
        assert_eq!(settings.policy(runtime).jitter_bps, 0);
    }

    proptest! {
        #[test]
        fn a_wait_lies_within_its_bounds(base: u64, bps in 0..=BPS_WHOLE, drawn: u32, max in 1u64..) {
            let delay = u128::from(jittered(Millis::new(base), bps, Jitter(drawn), Millis::new(max)).get());
            let (base, max) = (u128::from(base), u128::from(max));
            let spread = base * u128::from(bps) / 10_000;
            prop_assert!(delay >= 1 && delay <= max);
            prop_assert!(delay >= (base - spread).min(max).max(1));
            prop_assert!(delay <= (base + spread).max(1));
        }

        #[test]
        fn no_jitter_is_exactly_the_schedule(base in 1u64..=604_800_000, drawn: u32) {
            prop_assert_eq!(jittered(Millis::new(base), 0, Jitter(drawn), Millis::new(u64::MAX)).get(), base);
        }

        #[test]
        fn jitter_is_symmetric(base in 1_000u64..1_000_000_000, bps in 0..=BPS_WHOLE, drawn: u32) {
            let at = |drawn| jittered(Millis::new(base), bps, Jitter(drawn), Millis::new(u64::MAX)).get();
            let sum = at(drawn) + at(u32::MAX - drawn);
            prop_assert!(sum.abs_diff(2 * base) <= 2, "{sum} instead of {}", 2 * base);
        }

        #[test]
        fn a_budget_never_raises_a_maximum(budget: u32, of_row: u32) {
            let effective = RetryBudget(budget).effective_max(of_row);
            prop_assert!(effective <= of_row);
            prop_assert!(budget == 0 || effective <= budget.saturating_add(1));
            prop_assert!(effective == of_row || budget > 0);
        }
    }
}
