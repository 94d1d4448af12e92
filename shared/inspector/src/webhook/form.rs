//! The form fields of a webhook.

use std::collections::BTreeMap;

use postrider_api_types::Vocabulary;
use postrider_api_types::json::Strict;
use postrider_api_types::retry::RetryFields;
use postrider_api_types::unique_json::UniqueJson;
use postrider_domain::flow::Ramp;
use postrider_domain::invalid::Invalid;
use postrider_domain::pattern::Pattern;
use postrider_domain::payload_filter::PayloadFilter;
use postrider_domain::retry::{
    Classifier, OnExhausted, OnRetryAfter, Profile, Redirects, RetrySettings,
};
use postrider_domain::template::{DEFAULT_CONTENT_TYPE, Preset, Template, TemplateDraft};
use postrider_domain::webhook::{WebhookDraft, WebhookSettings};
use url::Url;

use super::headers::{HeaderLines, StoredValues};
use crate::fields::Fields;
use crate::filter::Choice;
use crate::site::Site;

/// The fields as entered; an empty one means the default.
#[derive(Default)]
pub(super) struct WebhookForm {
    pub(super) name: String,
    pub(super) target_url: String,
    pub(super) event_types: String,
    pub(super) filter: String,
    pub(super) template: String,
    pub(super) template_content_type: String,
    pub(super) template_query: String,
    pub(super) owner_email: String,
    pub(super) timeout_seconds: String,
    pub(super) retry_rate: String,
    pub(super) max_rate: String,
    pub(super) max_in_flight: String,
    pub(super) auto_resume: bool,
    pub(super) headers: HeaderLines,
    /// The retry fields by name.
    retry: BTreeMap<&'static str, String>,
}

impl WebhookForm {
    /// The form of a new webhook, which gets all events unless its creator says otherwise.
    pub(super) fn blank() -> Self {
        Self {
            event_types: "*".to_owned(),
            ..Self::default()
        }
    }

    pub(super) fn from_fields(fields: &Fields) -> Self {
        let preset = fields.get("do").and_then(|button| {
            let name = button.strip_prefix("preset-")?;
            name.parse::<Preset>().ok()
        });
        Self {
            name: fields.text("name"),
            target_url: fields.text("target_url"),
            event_types: fields.text("event_types"),
            filter: fields.text("filter"),
            // Browsers send line breaks as CRLF.
            template: preset.map_or_else(
                || fields.text("template").replace("\r\n", "\n"),
                |preset| preset.body().to_owned(),
            ),
            template_content_type: preset.map_or_else(
                || fields.text("template_content_type"),
                |_| DEFAULT_CONTENT_TYPE.to_owned(),
            ),
            template_query: fields.text("template_query"),
            owner_email: fields.text("owner_email"),
            timeout_seconds: fields.text("timeout_seconds"),
            retry_rate: fields.text("retry_rate"),
            max_rate: fields.text("max_rate"),
            max_in_flight: fields.text("max_in_flight"),
            auto_resume: fields.get("auto_resume").is_some(),
            headers: HeaderLines::from_fields(fields),
            retry: RetryFields::NAMES
                .map(|name| (name, fields.text(name)))
                .into(),
        }
    }

    /// The form of an existing webhook. Fields that the profile decides are empty.
    pub(super) fn of(settings: &WebhookSettings) -> Self {
        let types = settings.event_types.iter();
        let text = |limit: Option<u32>| limit.map(|n| n.to_string()).unwrap_or_default();
        let retry = RetryFields::from(settings.retry.clone());
        let of_template = |part: &dyn for<'a> Fn(&'a Template) -> &'a str| {
            let template = settings.template.as_ref();
            template.map(part).unwrap_or_default().to_owned()
        };
        Self {
            name: settings.name.clone(),
            target_url: settings.target_url.to_string(),
            event_types: types
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join("\n"),
            filter: settings.filter.as_ref().map(written).unwrap_or_default(),
            template: of_template(&|it| it.body()),
            template_content_type: of_template(&|it| it.content_type().as_str()),
            template_query: of_template(&|it| it.query().unwrap_or_default()),
            owner_email: settings.owner_email.clone().unwrap_or_default(),
            timeout_seconds: (settings.timeout.get() / 1000).to_string(),
            retry_rate: settings.retry_rate.to_string(),
            max_rate: text(settings.max_rate),
            max_in_flight: text(settings.max_in_flight),
            auto_resume: settings.auto_resume,
            headers: HeaderLines::of(&settings.headers),
            retry: RetryFields::NAMES
                .map(|name| (name, retry.form_text(name)))
                .into(),
        }
    }

    /// Applies the form of this site to a draft. Headers whose value is left empty keep their stored value, in the portal only
    /// as long as the URL keeps its origin.
    pub(super) fn apply_to(
        &self,
        site: Site,
        draft: &WebhookDraft,
    ) -> Result<WebhookDraft, Invalid> {
        let mut errors = Invalid::default();
        let timeout_seconds = number(&mut errors, "timeout_seconds", &self.timeout_seconds);
        let retry_rate = number(&mut errors, "retry_rate", &self.retry_rate);
        let max_rate = number(&mut errors, "max_rate", &self.max_rate);
        let max_in_flight = number(&mut errors, "max_in_flight", &self.max_in_flight);
        let filter = self.filter().map_err(|found| errors.extend(found));
        if let Err(found) = self.template() {
            errors.extend(found);
        }
        let retry = match self.retry() {
            Ok(retry) => Some(retry),
            Err(found) => {
                errors.extend(found);
                None
            }
        };
        // An operator may have set the values, and customers must not get to see them.
        let values =
            if site == Site::Inspector || is_same_origin(&draft.target_url, &self.target_url) {
                StoredValues::Kept
            } else {
                StoredValues::EnteredAgain
            };
        let headers = match self.headers.merged(draft.headers.as_ref(), values) {
            Ok(headers) => Some(headers),
            Err(found) => {
                errors.extend(found);
                None
            }
        };
        errors.into_result()?;
        let destination = WebhookDraft {
            name: self.name.clone(),
            target_url: self.target_url.clone(),
            event_types: self.types().map(str::to_owned).collect(),
            filter: filter.ok().flatten().map(Into::into),
            template: self.template_draft(),
            headers,
            ..draft.clone()
        };
        // How hard the gateway tries, and who hears of failures, is for operators to say.
        if site == Site::Portal {
            return Ok(destination);
        }
        Ok(WebhookDraft {
            owner_email: (!self.owner_email.is_empty()).then(|| self.owner_email.clone()),
            timeout_seconds,
            retry_rate,
            max_rate,
            max_in_flight,
            retry,
            auto_resume: Some(self.auto_resume),
            ..destination
        })
    }

    fn types(&self) -> impl Iterator<Item = &str> {
        let types = self.event_types.split([',', '\n', '\r', ' ']);
        types.map(str::trim).filter(|text| !text.is_empty())
    }

    /// The event types that are valid patterns.
    pub(super) fn patterns(&self) -> Vec<Pattern> {
        self.types().filter_map(|text| text.parse().ok()).collect()
    }

    pub(super) fn filter(&self) -> Result<Option<PayloadFilter>, Invalid> {
        if self.filter.is_empty() {
            return Ok(None);
        }
        match serde_json::from_str(&self.filter).map(UniqueJson::value) {
            Ok(source) => PayloadFilter::compile("filter", source).map(Some),
            Err(error) => Err(Invalid::field(
                "filter",
                format!("is not valid JSON: {error}"),
            )),
        }
    }

    fn template_draft(&self) -> Option<TemplateDraft> {
        let given = |text: &String| (!text.trim().is_empty()).then(|| text.clone());
        Some(TemplateDraft {
            body: given(&self.template)?,
            content_type: given(&self.template_content_type),
            query: given(&self.template_query),
        })
    }

    pub(super) fn template(&self) -> Result<Option<Template>, Invalid> {
        let draft = self.template_draft();
        draft.map(|draft| draft.check("template")).transpose()
    }

    pub(super) fn presets() -> [Preset; 3] {
        Preset::ALL
    }

    pub(super) fn retry(&self) -> Result<RetrySettings, Invalid> {
        let mut errors = Invalid::default();
        let fields = RetryFields::from_form(|name| self.retry_text(name), &mut errors);
        errors.into_result()?;
        let settings = RetrySettings::from(fields);
        settings.check().map(|()| settings)
    }

    /// A retry field as entered.
    pub(super) fn retry_text(&self, name: &str) -> &str {
        self.retry.get(name).map_or("", String::as_str)
    }

    pub(super) fn profiles(&self) -> Vec<Choice> {
        let name = |profile| match profile {
            Profile::Gateway => "gateway: 5 attempts in 1h 12m",
            Profile::PublicApi => "public-api: 6 attempts in 1h 5m",
            Profile::Standard => "standard: 10 attempts in 3 days",
            Profile::Custom => "custom: your own delays",
        };
        choices(self.retry_text("profile"), name)
    }

    pub(super) fn classifiers(&self) -> Vec<Choice> {
        let name = |classifier| match classifier {
            Classifier::EveryFailure => "Every response except 2xx",
            Classifier::ByStatus => "Only 429, 5xx and network errors",
        };
        choices(self.retry_text("classifier"), name)
    }

    pub(super) fn redirects(&self) -> Vec<Choice> {
        let name = |redirects| match redirects {
            Redirects::Delivered => "Count as delivered",
            Redirects::Failure => "Retry",
        };
        choices(self.retry_text("redirects"), name)
    }

    pub(super) fn retry_after_rules(&self) -> Vec<Choice> {
        let name = |rule| match rule {
            OnRetryAfter::Instead => "Replaces the scheduled delay",
            OnRetryAfter::AtLeast => "Extends the scheduled delay, never shortens it",
            OnRetryAfter::Ignore => "Ignored",
        };
        choices(self.retry_text("retry_after"), name)
    }

    pub(super) fn ramps(&self) -> Vec<Choice> {
        let name = |ramp| match ramp {
            Ramp::On => "Raised while the receiver keeps up",
            Ramp::Off => "Never above the retry rate limit",
        };
        choices(self.retry_text("retry_ramp"), name)
    }

    pub(super) fn endings(&self) -> Vec<Choice> {
        let name = |ending| match ending {
            OnExhausted::DeadLetter => "Mark the delivery dead; the webhook stays active",
            OnExhausted::FailWebhook => "Mark the delivery dead and fail the webhook",
        };
        choices(self.retry_text("on_exhausted"), name)
    }
}

fn is_same_origin(one: &str, other: &str) -> bool {
    match (Url::parse(one), Url::parse(other)) {
        (Ok(one), Ok(other)) => one.origin() == other.origin(),
        (Ok(_) | Err(_), _) => false,
    }
}

fn choices<T: Vocabulary>(given: &str, name: impl Fn(T) -> &'static str) -> Vec<Choice> {
    let choice = |one: &T| Choice {
        value: one.name().to_owned(),
        name: name(*one).to_owned(),
        is_chosen: given == one.name(),
    };
    T::ALL.iter().map(choice).collect()
}

/// As JSON, indented.
pub(super) fn written(filter: &PayloadFilter) -> String {
    serde_json::to_string_pretty(filter.source()).unwrap_or_default()
}

fn number(errors: &mut Invalid, field: &str, given: &str) -> Option<u32> {
    if given.is_empty() {
        return None;
    }
    let parsed = given.parse().map_err(|_| "must be a whole number");
    errors.take(field, parsed)
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
        let retry = form("profile=custom&delays_seconds=30, 2m 1h")
            .retry()
            .unwrap();
        assert_eq!(retry.delays_seconds, Some(vec![30, 120, 3600]));
        for bad in ["soon", "1.5", "-1", "99999999999", "4000000000d"] {
            assert!(
                form(&format!("delays_seconds={bad}")).retry().is_err(),
                "{bad}"
            );
        }
    }

    #[test]
    fn every_invalid_field_is_reported() {
        let given = "profile=x&max_attempts=many&jitter_bps=-1&delays_seconds=soon&timeout_seconds=t&classifier=c&max_rate=fast&filter={\"a\":5}&template={{";
        let errors = form(given)
            .apply_to(Site::Inspector, &WebhookDraft::default())
            .unwrap_err();
        let names: Vec<_> = errors
            .into_fields()
            .into_iter()
            .map(|error| error.field)
            .collect();
        assert_eq!(
            names,
            [
                "timeout_seconds",
                "max_rate",
                "filter",
                "template.body",
                "retry.profile",
                "retry.max_attempts",
                "retry.jitter_bps",
                "retry.delays_seconds",
                "retry.classifier"
            ]
        );
    }

    #[test]
    fn a_preset_is_copied_into_the_form() {
        let given = form("do=preset-slack&template=old&template_query=a%3D1");
        assert_eq!(given.template, Preset::Slack.body());
        assert_eq!(given.template_query, "a=1");
        let entered = form("template={}%0D%0A&template_content_type=text/plain");
        let draft = entered.template_draft().unwrap();
        assert_eq!((draft.body.as_str(), draft.query), ("{}", None));
        assert!(
            form("template=+&template_query=a")
                .template_draft()
                .is_none()
        );
    }

    #[test]
    fn a_filter_is_json() {
        let stored = form("filter={\"a\": [1]}").filter().unwrap().unwrap();
        assert_eq!(written(&stored), "{\n  \"a\": [\n    1\n  ]\n}");
        assert_eq!(form("filter=+").filter(), Ok(None));
        for bad in ["{", "{\"a\": [1], \"a\": [2]}", "open"] {
            let errors = form(&format!("filter={bad}")).filter().unwrap_err();
            assert!(
                errors.to_string().starts_with("filter: is not valid JSON"),
                "{errors}"
            );
        }
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
        let changed = form(query).apply_to(Site::Inspector, &draft).unwrap();
        assert_eq!(changed.auto_resume, Some(false));
        assert_eq!(changed.headers, draft.headers);
        assert_eq!(changed.event_types, ["a.*", "b", "c"]);
        let ticked = form("auto_resume=yes")
            .apply_to(Site::Inspector, &draft)
            .unwrap();
        assert_eq!(ticked.auto_resume, Some(true));
        assert_eq!(
            ticked.headers,
            Some([].into()),
            "no header is named any more"
        );
    }

    #[test]
    fn a_customer_enters_header_values_again_for_another_origin() {
        let stored = WebhookDraft {
            target_url: "https://a.example/hook".to_owned(),
            headers: Some([("authorization".to_owned(), "Bearer s".to_owned())].into()),
            ..WebhookDraft::default()
        };
        let save = |site, url: &str, value: &str| {
            let query = format!(
                "name=n&target_url={url}&event_types=a&headers[0].name=Authorization\
                 &headers[0].value={value}&headers[0].stored=yes"
            );
            form(&query).apply_to(site, &stored)
        };
        for same in ["https://a.example/other?q", "https://A.example:443/"] {
            let saved = save(Site::Portal, same, "").unwrap();
            assert_eq!(saved.headers, stored.headers, "{same}");
        }
        for other in [
            "https://b.example/hook",
            "https://a.example:8443/hook",
            "http://a.example/hook",
            "https://a.example.b.example/hook",
            "nonsense",
        ] {
            let errors = save(Site::Portal, other, "").unwrap_err().to_string();
            assert!(
                errors.starts_with("headers.authorization: enter the value again"),
                "{other}: {errors}"
            );
            let entered = save(Site::Portal, other, "mine").unwrap();
            assert_eq!(entered.headers.unwrap()["authorization"], "mine");
            let kept = save(Site::Inspector, other, "").unwrap();
            assert_eq!(kept.headers, stored.headers, "operators know the values");
        }
    }

    #[test]
    fn a_customer_changes_the_destination_and_nothing_else() {
        let stored = WebhookDraft {
            owner_email: Some("ops@gateway.example".to_owned()),
            max_rate: Some(7),
            auto_resume: Some(true),
            ..WebhookDraft::default()
        };
        let query = "name=n&target_url=https://a.example/&event_types=a&owner_email=x@y.example\
                     &max_rate=999&timeout_seconds=30&profile=standard";
        let changed = form(query).apply_to(Site::Portal, &stored).unwrap();
        let expected = WebhookDraft {
            name: "n".to_owned(),
            target_url: "https://a.example/".to_owned(),
            event_types: vec!["a".to_owned()],
            headers: Some([].into()),
            ..stored
        };
        assert_eq!(changed, expected);
    }
}
