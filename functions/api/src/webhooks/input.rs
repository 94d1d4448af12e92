//! What an owner writes about a webhook.

use std::collections::BTreeMap;
use std::fmt;

use postrider_domain::headers::CustomHeaders;
use postrider_domain::invalid::Invalid;
use postrider_domain::retry::{Classifier, OnExhausted, Profile, Redirects, RetrySettings};
use postrider_domain::webhook::WebhookDraft;
use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use utoipa::ToSchema;

use crate::json::{Object, Whole, Word, present};
use crate::openapi::words;
use crate::webhooks::view::HIDDEN;

/// Headers as written.
type Headers = BTreeMap<String, String>;

/// What a new webhook shall be.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewWebhook {
    /// 1 to 100 characters.
    name: String,
    /// An https URL.
    #[schema(example = "https://example.com/hooks")]
    target_url: String,
    /// 1 to 100 patterns; `*` stands for one segment, as the last for all that follow.
    #[schema(example = json!(["task.*"]))]
    event_types: Vec<String>,
    /// Who is mailed when it fails or keeps failing.
    #[serde(default)]
    owner_email: Option<String>,
    /// At most 32 headers of 8 KiB in all, sent with every delivery.
    #[serde(default, deserialize_with = "headers")]
    #[schema(value_type = Option<BTreeMap<String, String>>)]
    headers: Option<Headers>,
    /// `whsec_` and the base64 of 24 to 64 bytes; one is drawn unless set.
    #[serde(default)]
    secret: Option<String>,
    /// The whole time of an attempt; 10 unless set.
    #[serde(default)]
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 30)]
    timeout_seconds: Option<Whole>,
    /// Retries a second; 5 unless set.
    #[serde(default)]
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 10000)]
    retry_rate: Option<Whole>,
    /// Whether a failed webhook is tested with growing pauses, and resumed when it answers.
    #[serde(default)]
    auto_resume: Option<bool>,
    /// How failures are retried.
    #[serde(default)]
    #[schema(value_type = Option<RetryInput>)]
    retry: Option<Object<RetryInput>>,
}

impl NewWebhook {
    /// The draft, and the secret that was brought along.
    pub(crate) fn into_draft(self) -> (WebhookDraft, Option<String>) {
        let draft = WebhookDraft {
            name: self.name,
            target_url: self.target_url,
            event_types: self.event_types,
            owner_email: self.owner_email,
            headers: self.headers,
            timeout_seconds: self.timeout_seconds.map(|Whole(seconds)| seconds),
            retry_rate: self.retry_rate.map(|Whole(rate)| rate),
            auto_resume: self.auto_resume,
            retry: self.retry.map(|Object(retry)| retry.into()),
        };
        (draft, self.secret)
    }
}

/// What shall change about a webhook.
// The outer option tells absent from `null`.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WebhookPatch {
    #[serde(default, deserialize_with = "present")]
    #[schema(nullable = false)]
    name: Option<String>,
    #[serde(default, deserialize_with = "present")]
    #[schema(nullable = false)]
    target_url: Option<String>,
    #[serde(default, deserialize_with = "present")]
    #[schema(nullable = false)]
    event_types: Option<Vec<String>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    owner_email: Option<Option<String>>,
    #[serde(default, deserialize_with = "present_headers")]
    #[schema(value_type = Option<BTreeMap<String, String>>)]
    headers: Option<Option<Headers>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 30)]
    timeout_seconds: Option<Option<Whole>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 10000)]
    retry_rate: Option<Option<Whole>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<bool>)]
    auto_resume: Option<Option<bool>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<RetryInput>)]
    retry: Option<Option<Object<RetryInput>>>,
    /// Known only to be refused with a word on what to do instead.
    #[serde(default, deserialize_with = "present")]
    #[schema(ignore)]
    secret: Option<IgnoredAny>,
}

impl WebhookPatch {
    /// A secret is not changed but rotated, so that the old one stays valid for a while.
    pub(crate) fn refuse_secret(&self) -> Result<(), Invalid> {
        match self.secret {
            None => Ok(()),
            Some(IgnoredAny) => Err(Invalid::field(
                "secret",
                "cannot be changed here; POST to /v1/webhooks/{id}/rotate-secret instead",
            )),
        }
    }

    /// The draft with the changes.
    pub(crate) fn apply_to(self, mut draft: WebhookDraft) -> WebhookDraft {
        fn set<T>(place: &mut T, given: Option<T>) {
            if let Some(value) = given {
                *place = value;
            }
        }
        let headers = self
            .headers
            .map(|given| given.map(|given| keep_hidden(given, draft.headers.as_ref())));
        set(&mut draft.name, self.name);
        set(&mut draft.target_url, self.target_url);
        set(&mut draft.event_types, self.event_types);
        set(&mut draft.owner_email, self.owner_email);
        set(&mut draft.headers, headers);
        let seconds = self.timeout_seconds;
        set(
            &mut draft.timeout_seconds,
            seconds.map(|n| n.map(|Whole(n)| n)),
        );
        let rate = self.retry_rate;
        set(&mut draft.retry_rate, rate.map(|n| n.map(|Whole(n)| n)));
        set(&mut draft.auto_resume, self.auto_resume);
        let retry = self.retry;
        set(
            &mut draft.retry,
            retry.map(|given| given.map(|Object(retry)| retry.into())),
        );
        draft
    }
}

/// Whoever reads a webhook, changes a field and sends it back shall not overwrite a credential with what hides it.
fn keep_hidden(given: Headers, known: Option<&Headers>) -> Headers {
    let stored = |name: &str| {
        let name = name.to_ascii_lowercase();
        known.and_then(|known| known.get(&name)).cloned()
    };
    let is_hidden = |name: &str, value: &str| {
        value == HIDDEN
            && name
                .parse()
                .is_ok_and(|name| CustomHeaders::is_revealing(&name))
    };
    given
        .into_iter()
        .map(|(name, value)| {
            let kept = is_hidden(&name, &value).then(|| stored(&name)).flatten();
            (name, kept.unwrap_or(value))
        })
        .collect()
}

/// A profile, and what overrides it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RetrySettings)]
pub(crate) struct RetryInput {
    /// Where the defaults come from; `gateway` unless set.
    #[serde(default)]
    #[schema(schema_with = profiles)]
    profile: Option<Word<Profile>>,
    #[serde(default)]
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 100)]
    max_attempts: Option<Whole>,
    /// How far a wait may stray from the schedule, either way, in basis points.
    #[serde(default)]
    #[schema(value_type = Option<u32>, minimum = 0, maximum = 10000)]
    jitter_bps: Option<Whole>,
    /// 1 to 100 waits of 1 to 604,800 seconds; the last repeats.
    #[serde(default)]
    #[schema(value_type = Option<Vec<u32>>, min_items = 1, max_items = 100)]
    delays_seconds: Option<Vec<Whole>>,
    #[serde(default)]
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 604800)]
    max_backoff_seconds: Option<Whole>,
    /// Which answers are retried.
    #[serde(default)]
    #[schema(schema_with = classifiers)]
    classifier: Option<Word<Classifier>>,
    /// What a 3xx means under `by-status`.
    #[serde(default)]
    #[schema(schema_with = redirects)]
    redirects: Option<Word<Redirects>>,
    /// What becomes of the webhook when a delivery has used up its attempts.
    #[serde(default)]
    #[schema(schema_with = on_exhausted)]
    on_exhausted: Option<Word<OnExhausted>>,
}

impl From<RetryInput> for RetrySettings {
    fn from(given: RetryInput) -> Self {
        let number = |given: Option<Whole>| given.map(|Whole(number)| number);
        Self {
            profile: given.profile.map(|Word(name)| name).unwrap_or_default(),
            max_attempts: number(given.max_attempts),
            jitter_bps: number(given.jitter_bps).map(|n| u16::try_from(n).unwrap_or(u16::MAX)),
            delays_seconds: given
                .delays_seconds
                .map(|delays| delays.into_iter().map(|Whole(seconds)| seconds).collect()),
            max_backoff_seconds: number(given.max_backoff_seconds),
            classifier: given.classifier.map(|Word(name)| name),
            redirects: given.redirects.map(|Word(name)| name),
            on_exhausted: given.on_exhausted.map(|Word(name)| name),
        }
    }
}

pub(super) fn profiles() -> utoipa::openapi::Object {
    words(Profile::ALL.map(Profile::as_str))
}

pub(super) fn classifiers() -> utoipa::openapi::Object {
    words(["every-failure", "by-status"])
}

pub(super) fn redirects() -> utoipa::openapi::Object {
    words(["delivered", "failure"])
}

pub(super) fn on_exhausted() -> utoipa::openapi::Object {
    words(["dead-letter", "fail-webhook"])
}

/// Headers whose names are not given twice.
struct UniqueHeaders(Headers);

impl<'de> Deserialize<'de> for UniqueHeaders {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Unique;
        impl<'de> Visitor<'de> for Unique {
            type Value = UniqueHeaders;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of strings")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<UniqueHeaders, A::Error> {
                let mut headers = Headers::new();
                while let Some((name, value)) = map.next_entry()? {
                    if headers.insert(name, value).is_some() {
                        return Err(Error::custom("names a header twice"));
                    }
                }
                Ok(UniqueHeaders(headers))
            }
        }
        from.deserialize_map(Unique)
    }
}

fn headers<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Headers>, D::Error> {
    Ok(Option::<UniqueHeaders>::deserialize(from)?.map(|UniqueHeaders(headers)| headers))
}

fn present_headers<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<Option<Headers>>, D::Error> {
    headers(from).map(Some)
}
