//! Retry settings: as input, as CLI flags, as form fields, and as they apply to a webhook.

use postrider_domain::flow::Ramp;
use postrider_domain::invalid::Invalid;
use postrider_domain::retry::{
    BPS_WHOLE, Classifier, MAX_ATTEMPTS, MAX_DELAY_SECONDS, MAX_DELAYS, OnExhausted, OnRetryAfter,
    Profile, Redirects, RetrySettings, RuntimeRetry,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::duration;
use crate::json::{Name, Whole, strict};
use crate::schema::{list, schemas, whole, words};
use crate::word::{Vocabulary, Word, vocabulary};

vocabulary! {
    Classifier, as_str;
    OnExhausted, as_str;
    OnRetryAfter, as_str;
    Profile, as_str;
    Ramp, as_str;
    Redirects, as_str;
}

pub mod schema {
    //! The values of the fields.

    use super::*;

    schemas! { pub
        Classifier => words::<super::Classifier>();
        OnExhausted => words::<super::OnExhausted>();
        OnRetryAfter => words::<super::OnRetryAfter>();
        Profile => words::<super::Profile>();
        Ramp => words::<super::Ramp>();
        Redirects => words::<super::Redirects>();
        JitterBps => whole(0, BPS_WHOLE.into());
        MaxAttempts => whole(1, MAX_ATTEMPTS);
        RetryDelay => whole(1, MAX_DELAY_SECONDS);
        RetryDelays of RetryDelay => list::<RetryDelay>(1, MAX_DELAYS);
    }
}

/// A retry profile and the settings that override it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[cfg_attr(
    feature = "cli",
    derive(clap::Args),
    command(next_help_heading = "Retries")
)]
#[serde(deny_unknown_fields)]
#[schema(as = RetrySettings)]
pub struct RetryFields {
    /// Where the defaults come from; `gateway` by default.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "strict::<_, Option<Name<Profile>>>"
    )]
    #[schema(value_type = Option<schema::Profile>)]
    #[cfg_attr(feature = "cli", arg(long, value_parser = crate::flag::named::<Profile>()))]
    pub profile: Option<Profile>,
    /// The number of attempts in total, 1 to 100.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "strict::<_, Option<Whole>>"
    )]
    #[schema(value_type = Option<schema::MaxAttempts>)]
    #[cfg_attr(feature = "cli", arg(long, value_name = "N"))]
    pub max_attempts: Option<u32>,
    /// How far a delay may deviate from the schedule in either direction, in basis points (0 to 10000).
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "strict::<_, Option<Whole>>"
    )]
    #[schema(value_type = Option<schema::JitterBps>)]
    #[cfg_attr(feature = "cli", arg(long, value_name = "BPS"))]
    pub jitter_bps: Option<u32>,
    /// The delays after the first, second, … failure, 1 to 100 of them; the last one repeats.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "strict::<_, Option<Vec<Whole>>>"
    )]
    #[schema(value_type = Option<schema::RetryDelays>)]
    #[cfg_attr(
        feature = "cli",
        arg(long, value_name = "S,S,…", value_delimiter = ',')
    )]
    pub delays_seconds: Option<Vec<u32>>,
    /// The longest delay.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "strict::<_, Option<Whole>>"
    )]
    #[schema(value_type = Option<schema::RetryDelay>)]
    #[cfg_attr(feature = "cli", arg(long, value_name = "S"))]
    pub max_backoff_seconds: Option<u32>,
    /// Which responses are retried.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "strict::<_, Option<Name<Classifier>>>"
    )]
    #[schema(value_type = Option<schema::Classifier>)]
    #[cfg_attr(feature = "cli", arg(long, value_parser = crate::flag::named::<Classifier>()))]
    pub classifier: Option<Classifier>,
    /// What a 3xx response means under `by-status`.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "strict::<_, Option<Name<Redirects>>>"
    )]
    #[schema(value_type = Option<schema::Redirects>)]
    #[cfg_attr(feature = "cli", arg(long, value_parser = crate::flag::named::<Redirects>()))]
    pub redirects: Option<Redirects>,
    /// How the Retry-After header of a 429 or 503 counts: `instead` of the scheduled delay, or the longer of both
    /// (`at-least`).
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "strict::<_, Option<Name<OnRetryAfter>>>"
    )]
    #[schema(value_type = Option<schema::OnRetryAfter>)]
    #[cfg_attr(feature = "cli", arg(long, value_parser = crate::flag::named::<OnRetryAfter>()))]
    pub retry_after: Option<OnRetryAfter>,
    /// Whether retries may go faster than `retry_rate` for as long as the receiver keeps up.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "strict::<_, Option<Name<Ramp>>>"
    )]
    #[schema(value_type = Option<schema::Ramp>)]
    #[cfg_attr(feature = "cli", arg(long, value_parser = crate::flag::named::<Ramp>()))]
    pub retry_ramp: Option<Ramp>,
    /// What happens to the webhook when a delivery has used all its attempts.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "strict::<_, Option<Name<OnExhausted>>>"
    )]
    #[schema(value_type = Option<schema::OnExhausted>)]
    #[cfg_attr(feature = "cli", arg(long, value_parser = crate::flag::named::<OnExhausted>()))]
    pub on_exhausted: Option<OnExhausted>,
}

impl RetryFields {
    /// The names of the fields.
    pub const NAMES: [&'static str; 10] = [
        "profile",
        "max_attempts",
        "jitter_bps",
        "delays_seconds",
        "max_backoff_seconds",
        "classifier",
        "redirects",
        "retry_after",
        "retry_ramp",
        "on_exhausted",
    ];

    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// `base` with these settings changed. A profile has its own defaults, so it replaces all of `base`.
    #[must_use]
    pub fn over(self, base: Self) -> Self {
        if self.profile.is_some() {
            return self;
        }
        Self {
            profile: base.profile,
            max_attempts: self.max_attempts.or(base.max_attempts),
            jitter_bps: self.jitter_bps.or(base.jitter_bps),
            delays_seconds: self.delays_seconds.or(base.delays_seconds),
            max_backoff_seconds: self.max_backoff_seconds.or(base.max_backoff_seconds),
            classifier: self.classifier.or(base.classifier),
            redirects: self.redirects.or(base.redirects),
            retry_after: self.retry_after.or(base.retry_after),
            retry_ramp: self.retry_ramp.or(base.retry_ramp),
            on_exhausted: self.on_exhausted.or(base.on_exhausted),
        }
    }

    /// Reads the fields of a form, in which an empty text means the default. Errors are named `retry.<field>`.
    pub fn from_form<'a>(field: impl Fn(&str) -> &'a str, faults: &mut Invalid) -> Self {
        Self {
            profile: chosen(faults, "profile", &field),
            max_attempts: number(faults, "max_attempts", &field),
            jitter_bps: number(faults, "jitter_bps", &field),
            delays_seconds: delays(faults, "delays_seconds", &field),
            max_backoff_seconds: number(faults, "max_backoff_seconds", &field),
            classifier: chosen(faults, "classifier", &field),
            redirects: chosen(faults, "redirects", &field),
            retry_after: chosen(faults, "retry_after", &field),
            retry_ramp: chosen(faults, "retry_ramp", &field),
            on_exhausted: chosen(faults, "on_exhausted", &field),
        }
    }

    /// The text that a form shows for a field; empty for a default.
    #[must_use]
    pub fn form_text(&self, field: &str) -> String {
        use serde_json::Value;
        fn text(value: &Value) -> String {
            match value {
                Value::String(text) => text.clone(),
                Value::Array(items) => {
                    let items: Vec<String> = items.iter().map(text).collect();
                    items.join(", ")
                }
                Value::Null => String::new(),
                other @ (Value::Bool(_) | Value::Number(_) | Value::Object(_)) => other.to_string(),
            }
        }
        let fields = serde_json::to_value(self).unwrap_or_default();
        fields.get(field).map(text).unwrap_or_default()
    }
}

fn number<'a>(faults: &mut Invalid, name: &str, field: impl Fn(&str) -> &'a str) -> Option<u32> {
    let text = Some(field(name)).filter(|text| !text.is_empty())?;
    let parsed = text.parse().map_err(|_| "must be a whole number");
    faults.take(&format!("retry.{name}"), parsed)
}

fn chosen<'a, T: Vocabulary>(
    faults: &mut Invalid,
    name: &str,
    field: impl Fn(&str) -> &'a str,
) -> Option<T> {
    let text = Some(field(name)).filter(|text| !text.is_empty())?;
    let found = T::from_name(text);
    faults.require(found.is_some(), &format!("retry.{name}"), || {
        let names: Vec<_> = T::names().collect();
        format!("must be one of {}", names.join(", "))
    });
    found
}

/// Delays such as `30, 2m, 1h`, in seconds if there is no unit.
fn delays<'a>(
    faults: &mut Invalid,
    name: &str,
    field: impl Fn(&str) -> &'a str,
) -> Option<Vec<u32>> {
    let seconds = |text: &str| match text.parse() {
        Ok(seconds) => Some(seconds),
        Err(_) => u32::try_from(duration::parse(text)?.get() / 1000).ok(),
    };
    let parts = field(name).split([',', ' ', '\n']).map(str::trim);
    let parts = parts.filter(|part| !part.is_empty());
    let delays: Option<Vec<_>> = parts.map(seconds).collect();
    faults.require(delays.is_some(), &format!("retry.{name}"), || {
        "must be delays such as 30, 2m, 1h30m".to_owned()
    });
    delays.filter(|delays| !delays.is_empty())
}

impl From<RetryFields> for RetrySettings {
    fn from(given: RetryFields) -> Self {
        Self {
            profile: given.profile.unwrap_or_default(),
            max_attempts: given.max_attempts,
            jitter_bps: given
                .jitter_bps
                .map(|bps| u16::try_from(bps).unwrap_or(u16::MAX)),
            delays_seconds: given.delays_seconds,
            max_backoff_seconds: given.max_backoff_seconds,
            classifier: given.classifier,
            redirects: given.redirects,
            retry_after: given.retry_after,
            retry_ramp: given.retry_ramp,
            on_exhausted: given.on_exhausted,
        }
    }
}

impl From<RetrySettings> for RetryFields {
    fn from(settings: RetrySettings) -> Self {
        Self {
            profile: Some(settings.profile),
            max_attempts: settings.max_attempts,
            jitter_bps: settings.jitter_bps.map(u32::from),
            delays_seconds: settings.delays_seconds,
            max_backoff_seconds: settings.max_backoff_seconds,
            classifier: settings.classifier,
            redirects: settings.redirects,
            retry_after: settings.retry_after,
            retry_ramp: settings.retry_ramp,
            on_exhausted: settings.on_exhausted,
        }
    }
}

/// How failures are retried: the profile, and every value in effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = RetryPolicy)]
pub struct RetryView {
    #[schema(value_type = schema::Profile)]
    pub profile: Word<Profile>,
    pub max_attempts: u32,
    pub jitter_bps: u32,
    pub delays_seconds: Vec<u32>,
    pub max_backoff_seconds: u32,
    #[schema(value_type = schema::Classifier)]
    pub classifier: Word<Classifier>,
    #[schema(value_type = schema::Redirects)]
    pub redirects: Word<Redirects>,
    #[schema(value_type = schema::OnRetryAfter)]
    pub retry_after: Word<OnRetryAfter>,
    #[schema(value_type = schema::Ramp)]
    pub retry_ramp: Word<Ramp>,
    #[schema(value_type = schema::OnExhausted)]
    pub on_exhausted: Word<OnExhausted>,
}

impl RetryView {
    /// The effective policy of these settings, combined with the gateway's own.
    #[must_use]
    pub fn of(settings: &RetrySettings, runtime: RuntimeRetry) -> Self {
        let policy = settings.policy(runtime);
        let seconds = |ms: u64| u32::try_from(ms / 1000).unwrap_or(u32::MAX);
        Self {
            profile: settings.profile.into(),
            max_attempts: settings.max_attempts(),
            jitter_bps: policy.jitter_bps.into(),
            delays_seconds: policy
                .delays
                .iter()
                .map(|delay| seconds(delay.get()))
                .collect(),
            max_backoff_seconds: seconds(policy.max_backoff.get()),
            classifier: policy.classifier.into(),
            redirects: policy.redirects.into(),
            retry_after: policy.retry_after.into(),
            retry_ramp: settings.retry_ramp().into(),
            on_exhausted: policy.on_exhausted.into(),
        }
    }

    /// The settings that override the profile. They are kept separate, because a webhook's own setting stays when the
    /// defaults or the gateway's own settings change. `None` for a policy of a newer gateway.
    #[must_use]
    pub fn overrides(&self) -> Option<RetryFields> {
        let profile = self.profile.known()?;
        let is_custom = profile == Profile::Custom;
        let plain = RetrySettings {
            profile,
            delays_seconds: is_custom.then(|| self.delays_seconds.clone()),
            ..RetrySettings::default()
        };
        let base = Self::of(&plain, RuntimeRetry::default());
        let changed = |mine: u32, theirs: u32| (mine != theirs).then_some(mine);
        Some(RetryFields {
            profile: Some(profile),
            max_attempts: changed(self.max_attempts, base.max_attempts),
            jitter_bps: changed(self.jitter_bps, base.jitter_bps),
            delays_seconds: (is_custom || self.delays_seconds != base.delays_seconds)
                .then(|| self.delays_seconds.clone()),
            max_backoff_seconds: changed(self.max_backoff_seconds, base.max_backoff_seconds),
            classifier: changed_word(&self.classifier, &base.classifier)?,
            redirects: changed_word(&self.redirects, &base.redirects)?,
            retry_after: changed_word(&self.retry_after, &base.retry_after)?,
            retry_ramp: changed_word(&self.retry_ramp, &base.retry_ramp)?,
            on_exhausted: changed_word(&self.on_exhausted, &base.on_exhausted)?,
        })
    }
}

/// The outer option is `None` for a word of a newer gateway.
fn changed_word<T: Vocabulary + PartialEq>(mine: &Word<T>, theirs: &Word<T>) -> Option<Option<T>> {
    let value = mine.known()?;
    Some((mine != theirs).then_some(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_settings_that_override_the_profile_are_overrides() {
        for profile in [Profile::Gateway, Profile::PublicApi, Profile::Standard] {
            let plain = RetryFields {
                profile: Some(profile),
                ..RetryFields::default()
            };
            let changed = RetryFields {
                max_attempts: Some(7),
                jitter_bps: Some(1),
                retry_after: (profile != Profile::Standard).then_some(OnRetryAfter::AtLeast),
                retry_ramp: (profile == Profile::Gateway).then_some(Ramp::On),
                ..plain.clone()
            };
            for settings in [plain, changed] {
                let view = RetryView::of(&settings.clone().into(), RuntimeRetry::default());
                assert_eq!(view.overrides(), Some(settings));
            }
        }
    }

    #[test]
    fn custom_delays_are_overrides() {
        let custom = RetryFields {
            profile: Some(Profile::Custom),
            delays_seconds: Some(vec![1, 2]),
            ..RetryFields::default()
        };
        let view = RetryView::of(&custom.clone().into(), RuntimeRetry::default());
        assert_eq!(view.overrides(), Some(custom));
    }

    #[test]
    fn a_policy_of_a_newer_gateway_has_no_overrides() {
        let mut view = RetryView::of(&RetrySettings::default(), RuntimeRetry::default());
        view.classifier = Word::Unknown("by-header".to_owned());
        assert_eq!(view.overrides(), None);
    }

    #[test]
    fn a_profile_replaces_all_settings_and_other_fields_only_their_own() {
        let before = RetryFields {
            profile: Some(Profile::Standard),
            jitter_bps: Some(7),
            ..RetryFields::default()
        };
        let changes = RetryFields {
            max_attempts: Some(3),
            ..RetryFields::default()
        };
        let expected = RetryFields {
            max_attempts: Some(3),
            ..before.clone()
        };
        assert_eq!(changes.over(before.clone()), expected);
        let fresh = RetryFields {
            profile: Some(Profile::PublicApi),
            ..RetryFields::default()
        };
        assert_eq!(fresh.clone().over(before), fresh);
    }

    #[test]
    fn a_form_shows_what_it_reads() {
        let texts = [
            ("profile", "custom"),
            ("max_attempts", "4"),
            ("jitter_bps", "100"),
            ("delays_seconds", "30, 120, 3600"),
            ("max_backoff_seconds", "60"),
            ("classifier", "by-status"),
            ("redirects", "failure"),
            ("retry_after", "at-least"),
            ("retry_ramp", "on"),
            ("on_exhausted", "fail-webhook"),
        ];
        let field = |name: &str| {
            let found = texts.iter().find(|(known, _)| *known == name);
            found.map_or("", |(_, text)| text)
        };
        let mut faults = Invalid::default();
        let fields = RetryFields::from_form(field, &mut faults);
        assert_eq!(faults.into_result(), Ok(()));
        for (name, text) in texts {
            assert_eq!(fields.form_text(name), text, "{name}");
        }
        assert_eq!(texts.map(|(name, _)| name), RetryFields::NAMES);
        let written = serde_json::to_value(&fields).unwrap();
        assert_eq!(written.as_object().unwrap().len(), texts.len());
    }

    #[test]
    fn delays_may_have_units() {
        let mut faults = Invalid::default();
        let read = delays(&mut faults, "delays_seconds", |_| "30, 2m 1h30m");
        assert_eq!(read, Some(vec![30, 120, 5400]));
        for bad in ["soon", "1.5", "-1", "99999999999", "4000000000d"] {
            let mut faults = Invalid::default();
            delays(&mut faults, "delays_seconds", |_| bad);
            assert!(faults.into_result().is_err(), "{bad}");
        }
    }
}
