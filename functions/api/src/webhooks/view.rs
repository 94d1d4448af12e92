//! Webhooks as they are shown: what was set, what follows from it, and no secret.

use std::collections::BTreeMap;

use postrider_domain::headers::CustomHeaders;
use postrider_domain::health::{LastFailure, WebhookStatus};
use postrider_domain::ids::{DeliveryId, WebhookId};
use postrider_domain::pace::Pace;
use postrider_domain::retry::{
    Classifier, OnExhausted, Profile, Redirects, RetrySettings, RuntimeRetry,
};
use postrider_domain::webhook::Webhook;
use serde::Serialize;
use utoipa::ToSchema;

use crate::openapi::words;
use crate::views::Time;
use crate::webhooks::input::{classifiers, on_exhausted, profiles, redirects};

/// Stands for a header's value that looks like a credential.
pub(super) const HIDDEN: &str = "***";

/// An outbound destination.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Webhook)]
pub(crate) struct WebhookView {
    #[schema(value_type = String)]
    id: WebhookId,
    name: String,
    target_url: String,
    event_types: Vec<String>,
    #[schema(required)]
    owner_email: Option<String>,
    /// A value that looks like a credential is shown as `***`.
    headers: BTreeMap<String, String>,
    timeout_seconds: u64,
    retry_rate: u32,
    /// Attempts a second that it gets now: `retry_rate`, or fewer while it answers 429, 503 or not in time.
    current_rate: f64,
    auto_resume: bool,
    retry: RetryView,
    #[schema(schema_with = statuses)]
    status: WebhookStatus,
    /// Failed attempts in a row.
    failure_count: u32,
    /// Whether there are recent failures although it is active.
    degraded: bool,
    /// Why it has this status.
    #[schema(required)]
    status_reason: Option<String>,
    #[schema(required)]
    status_changed_at: Option<Time>,
    /// When it is tested next: while it is failed and has `auto_resume`.
    #[schema(required)]
    next_probe_at: Option<Time>,
    /// The last attempt that failed; stays when later ones arrive.
    #[schema(required)]
    last_failure: Option<LastFailureView>,
    /// When each replaced secret that still signs along runs out, the latest first.
    secret_expires: Vec<Time>,
    created_at: Time,
    updated_at: Time,
}

/// What failed last.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LastFailure)]
pub(crate) struct LastFailureView {
    #[schema(value_type = String)]
    delivery_id: DeliveryId,
    event_type: String,
    /// Why it failed, without anything that the receiver wrote; the delivery shows that.
    error: String,
    at: Time,
}

impl LastFailureView {
    fn of(failure: &LastFailure) -> Self {
        Self {
            delivery_id: failure.delivery,
            event_type: failure.event_type.to_string(),
            error: failure.error.clone(),
            at: Time(failure.at),
        }
    }
}

/// How failures are retried: the profile, and every value in force.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RetryPolicy)]
pub(crate) struct RetryView {
    #[schema(schema_with = profiles)]
    profile: Profile,
    max_attempts: u32,
    jitter_bps: u16,
    delays_seconds: Vec<u64>,
    max_backoff_seconds: u64,
    #[schema(schema_with = classifiers)]
    classifier: Classifier,
    #[schema(schema_with = redirects)]
    redirects: Redirects,
    #[schema(schema_with = on_exhausted)]
    on_exhausted: OnExhausted,
}

fn statuses() -> utoipa::openapi::Object {
    words(WebhookStatus::ALL.map(WebhookStatus::as_str))
}

impl WebhookView {
    /// As it is under the gateway's own retry settings.
    pub(crate) fn of(webhook: &Webhook, pace: &Pace, runtime: RuntimeRetry) -> Self {
        let (settings, health) = (&webhook.settings, &webhook.health);
        let next_probe_at = health.next_probe_at.filter(|_| settings.auto_resume);
        Self {
            id: webhook.id,
            name: settings.name.clone(),
            target_url: settings.target_url.to_string(),
            event_types: settings
                .event_types
                .iter()
                .map(ToString::to_string)
                .collect(),
            owner_email: settings.owner_email.clone(),
            headers: shown_headers(&settings.headers),
            timeout_seconds: settings.timeout.get() / 1000,
            retry_rate: settings.retry_rate,
            current_rate: f64::from(pace.rate_milli(settings.retry_rate)) / 1000.0,
            auto_resume: settings.auto_resume,
            retry: RetryView::of(&settings.retry, runtime),
            status: health.status,
            failure_count: health.failure_count,
            degraded: health.is_degraded(),
            status_reason: health.reason.as_ref().map(ToString::to_string),
            status_changed_at: health.changed_at.map(Time),
            next_probe_at: next_probe_at.map(Time),
            last_failure: health.last_failure.as_ref().map(LastFailureView::of),
            secret_expires: webhook
                .secrets
                .retiring
                .iter()
                .map(|old| Time(old.expires_at))
                .collect(),
            created_at: Time(webhook.created_at),
            updated_at: Time(webhook.updated_at),
        }
    }
}

/// Names and values, without what looks like a credential.
pub(crate) fn shown_headers(headers: &CustomHeaders) -> BTreeMap<String, String> {
    headers
        .iter()
        .map(|(name, value)| {
            let value = match value.to_str() {
                Ok(value) if !CustomHeaders::is_revealing(name) => value,
                _ => HIDDEN,
            };
            (name.to_string(), value.to_owned())
        })
        .collect()
}

impl RetryView {
    fn of(settings: &RetrySettings, runtime: RuntimeRetry) -> Self {
        let policy = settings.policy(runtime);
        Self {
            profile: settings.profile,
            max_attempts: settings.max_attempts(),
            jitter_bps: policy.jitter_bps,
            delays_seconds: policy
                .delays
                .iter()
                .map(|delay| delay.get() / 1000)
                .collect(),
            max_backoff_seconds: policy.max_backoff.get() / 1000,
            classifier: policy.classifier,
            redirects: policy.redirects,
            on_exhausted: policy.on_exhausted,
        }
    }
}

/// All webhooks, the oldest first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WebhookList {
    items: Vec<WebhookView>,
    /// Always `null`: the list is never parted.
    #[schema(required)]
    next_cursor: Option<String>,
}

impl WebhookList {
    pub(crate) fn of<'a>(
        webhooks: impl Iterator<Item = (&'a Webhook, &'a Pace)>,
        runtime: RuntimeRetry,
    ) -> Self {
        Self {
            items: webhooks
                .map(|(webhook, pace)| WebhookView::of(webhook, pace, runtime))
                .collect(),
            next_cursor: None,
        }
    }
}

/// A webhook that was just made.
#[derive(Serialize, ToSchema)]
pub(crate) struct CreatedWebhook {
    #[serde(flatten)]
    webhook: WebhookView,
    /// What deliveries are signed with, shown this once.
    secret: String,
}

impl CreatedWebhook {
    pub(crate) fn of(webhook: &Webhook, runtime: RuntimeRetry) -> Self {
        Self {
            webhook: WebhookView::of(webhook, &Pace::default(), runtime),
            secret: webhook.secrets.current.expose().to_owned(),
        }
    }
}
