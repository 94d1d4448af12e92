//! The form fields of a webhook.

use postrider_domain::invalid::Invalid;
use postrider_domain::retry::{Classifier, OnExhausted, Profile, Redirects, RetrySettings};
use postrider_domain::webhook::{WebhookDraft, WebhookSettings};

use super::headers::HeaderLines;
use crate::inspector::fields::Fields;
use crate::inspector::filter::Choice;

/// The fields as entered; an empty one means the default.
#[derive(Default)]
pub(super) struct WebhookForm {
    pub(super) name: String,
    pub(super) target_url: String,
    pub(super) event_types: String,
    pub(super) owner_email: String,
    pub(super) timeout_seconds: String,
    pub(super) retry_rate: String,
    pub(super) auto_resume: bool,
    pub(super) headers: HeaderLines,
    profile: String,
    classifier: String,
    redirects: String,
    on_exhausted: String,
    pub(super) max_attempts: String,
    pub(super) jitter_bps: String,
    pub(super) delays: String,
    pub(super) max_backoff: String,
}

impl WebhookForm {
    pub(super) fn from_fields(fields: &Fields) -> Self {
        Self {
            name: fields.text("name"),
            target_url: fields.text("target_url"),
            event_types: fields.text("event_types"),
            owner_email: fields.text("owner_email"),
            timeout_seconds: fields.text("timeout_seconds"),
            retry_rate: fields.text("retry_rate"),
            auto_resume: fields.get("auto_resume").is_some(),
            headers: HeaderLines::from_fields(fields),
            profile: fields.text("profile"),
            classifier: fields.text("classifier"),
            redirects: fields.text("redirects"),
            on_exhausted: fields.text("on_exhausted"),
            max_attempts: fields.text("max_attempts"),
            jitter_bps: fields.text("jitter_bps"),
            delays: fields.text("delays"),
            max_backoff: fields.text("max_backoff"),
        }
    }

    /// The form of an existing webhook. Fields that the profile decides are empty.
    pub(super) fn of(settings: &WebhookSettings) -> Self {
        fn text<T: ToString>(value: Option<T>) -> String {
            value.map(|value| value.to_string()).unwrap_or_default()
        }
        let (retry, types) = (&settings.retry, settings.event_types.iter());
        let delays = retry
            .delays_seconds
            .iter()
            .flatten()
            .map(ToString::to_string);
        Self {
            name: settings.name.clone(),
            target_url: settings.target_url.to_string(),
            event_types: types
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join("\n"),
            owner_email: settings.owner_email.clone().unwrap_or_default(),
            timeout_seconds: (settings.timeout.get() / 1000).to_string(),
            retry_rate: settings.retry_rate.to_string(),
            auto_resume: settings.auto_resume,
            headers: HeaderLines::of(&settings.headers),
            profile: retry.profile.as_str().to_owned(),
            classifier: retry.classifier.map_or("", classifier_word).to_owned(),
            redirects: retry.redirects.map_or("", redirects_word).to_owned(),
            on_exhausted: retry.on_exhausted.map_or("", ending_word).to_owned(),
            max_attempts: text(retry.max_attempts),
            jitter_bps: text(retry.jitter_bps),
            delays: delays.collect::<Vec<_>>().join(", "),
            max_backoff: text(retry.max_backoff_seconds),
        }
    }

    /// Applies the form to a draft. Headers whose value is left empty keep their stored value.
    pub(super) fn apply_to(&self, draft: &WebhookDraft) -> Result<WebhookDraft, Invalid> {
        let mut errors = Invalid::default();
        let timeout_seconds = number(&mut errors, "timeout_seconds", &self.timeout_seconds);
        let retry_rate = number(&mut errors, "retry_rate", &self.retry_rate);
        let retry = match self.retry() {
            Ok(retry) => Some(retry),
            Err(found) => {
                errors.extend(found);
                None
            }
        };
        let headers = match self.headers.merged(draft.headers.as_ref()) {
            Ok(headers) => Some(headers),
            Err(found) => {
                errors.extend(found);
                None
            }
        };
        errors.into_result()?;
        let types = self
            .event_types
            .split([',', '\n', '\r', ' '])
            .map(str::trim);
        Ok(WebhookDraft {
            name: self.name.clone(),
            target_url: self.target_url.clone(),
            event_types: types
                .filter(|text| !text.is_empty())
                .map(str::to_owned)
                .collect(),
            owner_email: (!self.owner_email.is_empty()).then(|| self.owner_email.clone()),
            timeout_seconds,
            retry_rate,
            retry,
            headers,
            auto_resume: Some(self.auto_resume),
        })
    }

    pub(super) fn retry(&self) -> Result<RetrySettings, Invalid> {
        let mut errors = Invalid::default();
        let profile = chosen(
            &mut errors,
            "retry.profile",
            &self.profile,
            Profile::ALL,
            Profile::as_str,
        );
        let jitter = number(&mut errors, "retry.jitter_bps", &self.jitter_bps);
        let settings = RetrySettings {
            profile: profile.unwrap_or_default(),
            max_attempts: number(&mut errors, "retry.max_attempts", &self.max_attempts),
            jitter_bps: jitter.map(|n| u16::try_from(n).unwrap_or(u16::MAX)),
            delays_seconds: delays(&mut errors, &self.delays),
            max_backoff_seconds: number(
                &mut errors,
                "retry.max_backoff_seconds",
                &self.max_backoff,
            ),
            classifier: chosen(
                &mut errors,
                "retry.classifier",
                &self.classifier,
                CLASSIFIERS,
                classifier_word,
            ),
            redirects: chosen(
                &mut errors,
                "retry.redirects",
                &self.redirects,
                REDIRECTS,
                redirects_word,
            ),
            on_exhausted: chosen(
                &mut errors,
                "retry.on_exhausted",
                &self.on_exhausted,
                ENDINGS,
                ending_word,
            ),
        };
        errors.into_result()?;
        settings.check().map(|()| settings)
    }

    pub(super) fn profiles(&self) -> Vec<Choice> {
        let name = |profile| match profile {
            Profile::Gateway => "gateway: 5 attempts in 1h 12m",
            Profile::PublicApi => "public-api: 6 attempts in 1h 5m",
            Profile::Standard => "standard: 10 attempts in 3 days",
            Profile::Custom => "custom: your own delays",
        };
        choices(&self.profile, Profile::ALL, Profile::as_str, name)
    }

    pub(super) fn classifiers(&self) -> Vec<Choice> {
        let name = |classifier| match classifier {
            Classifier::EveryFailure => "Every response except 2xx",
            Classifier::ByStatus => "Only 429, 5xx and network errors",
        };
        choices(&self.classifier, CLASSIFIERS, classifier_word, name)
    }

    pub(super) fn redirects(&self) -> Vec<Choice> {
        let name = |redirects| match redirects {
            Redirects::Delivered => "Count as delivered",
            Redirects::Failure => "Retry",
        };
        choices(&self.redirects, REDIRECTS, redirects_word, name)
    }

    pub(super) fn endings(&self) -> Vec<Choice> {
        let name = |ending| match ending {
            OnExhausted::DeadLetter => "Mark the delivery dead; the webhook stays active",
            OnExhausted::FailWebhook => "Mark the delivery dead and fail the webhook",
        };
        choices(&self.on_exhausted, ENDINGS, ending_word, name)
    }
}

const CLASSIFIERS: [Classifier; 2] = [Classifier::EveryFailure, Classifier::ByStatus];
const REDIRECTS: [Redirects; 2] = [Redirects::Delivered, Redirects::Failure];
const ENDINGS: [OnExhausted; 2] = [OnExhausted::DeadLetter, OnExhausted::FailWebhook];

const fn classifier_word(classifier: Classifier) -> &'static str {
    match classifier {
        Classifier::EveryFailure => "every-failure",
        Classifier::ByStatus => "by-status",
    }
}

const fn redirects_word(redirects: Redirects) -> &'static str {
    match redirects {
        Redirects::Delivered => "delivered",
        Redirects::Failure => "failure",
    }
}

const fn ending_word(ending: OnExhausted) -> &'static str {
    match ending {
        OnExhausted::DeadLetter => "dead-letter",
        OnExhausted::FailWebhook => "fail-webhook",
    }
}

fn choices<T: Copy, const N: usize>(
    given: &str,
    all: [T; N],
    word: impl Fn(T) -> &'static str,
    name: impl Fn(T) -> &'static str,
) -> Vec<Choice> {
    let choice = |one: T| Choice {
        value: word(one).to_owned(),
        name: name(one).to_owned(),
        is_chosen: given == word(one),
    };
    all.map(choice).into()
}

fn chosen<T: Copy, const N: usize>(
    errors: &mut Invalid,
    field: &str,
    given: &str,
    all: [T; N],
    word: impl Fn(T) -> &'static str,
) -> Option<T> {
    let found = all.into_iter().find(|one| word(*one) == given);
    errors.require(found.is_some() || given.is_empty(), field, || {
        format!("must be one of {}", all.map(&word).join(", "))
    });
    found
}

fn number(errors: &mut Invalid, field: &str, given: &str) -> Option<u32> {
    if given.is_empty() {
        return None;
    }
    let parsed = given.parse().map_err(|_| "must be a whole number");
    errors.take(field, parsed)
}

/// Delays such as `30, 2m, 1h`, in seconds unless a unit is given.
fn delays(errors: &mut Invalid, given: &str) -> Option<Vec<u32>> {
    let parts = given
        .split([',', ' ', '\n'])
        .map(str::trim)
        .filter(|part| !part.is_empty());
    let read: Option<Vec<_>> = parts.map(seconds).collect();
    errors.require(read.is_some(), "retry.delays_seconds", || {
        "must be a list of delays such as 30, 2m, 1h".to_owned()
    });
    read.filter(|delays| !delays.is_empty())
}

fn seconds(text: &str) -> Option<u32> {
    let (count, unit) = match text.strip_suffix(['s', 'm', 'h', 'd']) {
        Some(count) => (count, text.chars().last()),
        None => (text, None),
    };
    let each = match unit {
        Some('m') => 60,
        Some('h') => 3600,
        Some('d') => 86_400,
        _ => 1,
    };
    count.parse::<u32>().ok()?.checked_mul(each)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(query: &str) -> WebhookForm {
        WebhookForm::from_fields(&Fields::parse(query.as_bytes()))
    }

    #[test]
    fn an_empty_policy_is_the_profiles_default() {
        let retry = form("profile=standard").retry().unwrap();
        let standard = RetrySettings {
            profile: Profile::Standard,
            ..RetrySettings::default()
        };
        assert_eq!(retry, standard);
    }

    #[test]
    fn delays_may_have_units() {
        let retry = form("profile=custom&delays=30, 2m 1h").retry().unwrap();
        assert_eq!(retry.delays_seconds, Some(vec![30, 120, 3600]));
        for bad in ["soon", "1.5", "-1", "99999999999", "4000000000d"] {
            assert!(form(&format!("delays={bad}")).retry().is_err(), "{bad}");
        }
    }

    #[test]
    fn every_invalid_field_is_reported() {
        let given =
            "profile=x&max_attempts=many&jitter_bps=-1&delays=soon&timeout_seconds=t&classifier=c";
        let errors = form(given).apply_to(&WebhookDraft::default()).unwrap_err();
        let names: Vec<_> = errors
            .into_fields()
            .into_iter()
            .map(|error| error.field)
            .collect();
        assert_eq!(
            names,
            [
                "timeout_seconds",
                "retry.profile",
                "retry.jitter_bps",
                "retry.max_attempts",
                "retry.delays_seconds",
                "retry.classifier"
            ]
        );
    }

    #[test]
    fn an_unchecked_box_is_off_and_stored_headers_are_kept() {
        let draft = WebhookDraft {
            auto_resume: Some(true),
            headers: Some([("x-team".to_owned(), "blue".to_owned())].into()),
            ..WebhookDraft::default()
        };
        let query =
            "name=n&target_url=https://a.example/&event_types=a.*,b%0Ac&headers[0].name=x-team";
        let changed = form(query).apply_to(&draft).unwrap();
        assert_eq!(changed.auto_resume, Some(false));
        assert_eq!(changed.headers, draft.headers);
        assert_eq!(changed.event_types, ["a.*", "b", "c"]);
        let ticked = form("auto_resume=yes").apply_to(&draft).unwrap();
        assert_eq!(ticked.auto_resume, Some(true));
        assert_eq!(
            ticked.headers,
            Some([].into()),
            "no header is named any more"
        );
    }
}
