//! Retry settings as options of `webhooks` and `policy`.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use postrider_domain::retry::{Classifier, OnExhausted, Profile, Redirects, RetrySettings};
use serde::de::DeserializeOwned;

/// A profile and overrides.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Retries")]
pub(crate) struct RetryFlags {
    /// Profile that sets the defaults [default: gateway]
    #[arg(long, value_parser = named::<Profile, 4>(Profile::ALL.map(Profile::as_str)))]
    profile: Option<Profile>,

    /// Maximum number of attempts, 1 to 100
    #[arg(long, value_name = "N")]
    max_attempts: Option<u32>,

    /// How far a delay may deviate from the schedule, in basis points, 0 to 10000
    #[arg(long, value_name = "BPS")]
    jitter_bps: Option<u16>,

    /// Delays after the first, second, … failure, in seconds; the last one repeats
    #[arg(long, value_name = "S,S,…", value_delimiter = ',')]
    delays_seconds: Option<Vec<u32>>,

    /// Longest delay, in seconds
    #[arg(long, value_name = "S")]
    max_backoff_seconds: Option<u32>,

    /// Which failures to retry
    #[arg(long, value_parser = named::<Classifier, 2>(["every-failure", "by-status"]))]
    classifier: Option<Classifier>,

    /// How by-status treats a 3xx response
    #[arg(long, value_parser = named::<Redirects, 2>(["delivered", "failure"]))]
    redirects: Option<Redirects>,

    /// Whether a delivery that uses up its attempts also fails the webhook
    #[arg(long, value_parser = named::<OnExhausted, 2>(["dead-letter", "fail-webhook"]))]
    on_exhausted: Option<OnExhausted>,
}

impl RetryFlags {
    pub(crate) fn any(&self) -> bool {
        let Self {
            profile,
            max_attempts,
            jitter_bps,
            delays_seconds,
            max_backoff_seconds,
            classifier,
            redirects,
            on_exhausted,
        } = self;
        profile.is_some()
            || max_attempts.is_some()
            || jitter_bps.is_some()
            || delays_seconds.is_some()
            || max_backoff_seconds.is_some()
            || classifier.is_some()
            || redirects.is_some()
            || on_exhausted.is_some()
    }

    /// Whether a profile is given, so that the current settings do not matter.
    pub(crate) fn names_profile(&self) -> bool {
        self.profile.is_some()
    }

    /// Applies the options to `base`. A profile has its own defaults and discards `base`.
    pub(crate) fn over(self, base: RetrySettings) -> RetrySettings {
        let base = match self.profile {
            Some(profile) => RetrySettings {
                profile,
                ..RetrySettings::default()
            },
            None => base,
        };
        RetrySettings {
            profile: base.profile,
            max_attempts: self.max_attempts.or(base.max_attempts),
            jitter_bps: self.jitter_bps.or(base.jitter_bps),
            delays_seconds: self.delays_seconds.or(base.delays_seconds),
            max_backoff_seconds: self.max_backoff_seconds.or(base.max_backoff_seconds),
            classifier: self.classifier.or(base.classifier),
            redirects: self.redirects.or(base.redirects),
            on_exhausted: self.on_exhausted.or(base.on_exhausted),
        }
    }
}

/// Parses a value as the API spells it.
fn named<T, const N: usize>(names: [&'static str; N]) -> impl TypedValueParser<Value = T>
where
    T: DeserializeOwned + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(names).try_map(|name| serde_json::from_value::<T>(name.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        retry: RetryFlags,
    }

    fn flags(line: &str) -> RetryFlags {
        let words = ["test"].into_iter().chain(line.split_whitespace());
        Line::try_parse_from(words)
            .map(|line| line.retry)
            .unwrap_or_else(|error| panic!("{line}: {error}"))
    }

    #[test]
    fn every_value_of_the_api_is_accepted() {
        for profile in Profile::ALL {
            let settings =
                flags(&format!("--profile {}", profile.as_str())).over(RetrySettings::default());
            assert_eq!(settings.profile, profile);
        }
        for line in [
            "--classifier every-failure",
            "--classifier by-status",
            "--redirects delivered",
            "--redirects failure",
            "--on-exhausted dead-letter",
            "--on-exhausted fail-webhook",
        ] {
            assert!(flags(line).any(), "{line}");
        }
        assert!(!flags("").any());
    }

    #[test]
    fn options_override_settings_and_a_profile_discards_them() {
        let before = RetrySettings {
            profile: Profile::Standard,
            jitter_bps: Some(7),
            ..RetrySettings::default()
        };
        let changed = flags("--max-attempts 3 --delays-seconds 1,2").over(before.clone());
        assert_eq!(
            changed,
            RetrySettings {
                max_attempts: Some(3),
                delays_seconds: Some(vec![1, 2]),
                ..before.clone()
            }
        );
        let fresh = flags("--profile public-api").over(before);
        assert_eq!(
            fresh,
            RetrySettings {
                profile: Profile::PublicApi,
                ..RetrySettings::default()
            }
        );
    }
}
