//! Displays webhooks.

use postrider_api_types::retry::RetryFields;
use postrider_api_types::webhook::{LastFailureView, WebhookView};
use postrider_api_types::{ApiTime, Word};
use postrider_domain::health::WebhookStatus;

use crate::output::{Output, plural, printable_line};
use crate::table::{Table, facts};
use crate::views::ShowWebhook;
use crate::when::short_time;

pub(super) const SAVE_THE_SECRET: &str =
    "Save the secret now: it is not shown again. Receivers need it to verify signatures.";

pub(super) fn list(webhooks: Vec<WebhookView>, out: Output) -> String {
    let mut table = Table::new(["ID", "NAME", "STATUS", "EVENT TYPES", "TARGET"]);
    for webhook in webhooks {
        let status = status(&webhook);
        let types = printable_line(&webhook.event_types.join(", "), 40);
        table.row(
            webhook.mark(),
            [
                webhook.id,
                printable_line(&webhook.name, 30),
                status,
                types,
                webhook.target_url,
            ],
        );
    }
    table.show(out)
}

/// `active, degraded (3 failures), limited to 1.5/s`.
fn status(webhook: &WebhookView) -> String {
    let mut text = webhook.status.to_string();
    if webhook.degraded {
        let failures = plural(webhook.failure_count, "failure");
        text.push_str(&format!(", degraded ({failures})"));
    }
    if let Some(limit) = webhook.limit() {
        text.push_str(&format!(", {limit}"));
    }
    text
}

pub(super) fn one(webhook: &WebhookView, out: Output) -> String {
    let headers = webhook.headers.iter();
    let headers: Vec<String> = headers
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    let mut text = facts(
        out,
        [
            ("webhook", Some(webhook.id.clone())),
            ("name", Some(webhook.name.clone())),
            ("status", Some(webhook.state())),
            ("reason", webhook.status_reason.clone()),
            ("target", Some(webhook.target_url.clone())),
            ("event types", Some(webhook.event_types.join(", "))),
            ("filter", webhook.filter.as_ref().map(ToString::to_string)),
            ("owner", webhook.owner_email.clone()),
            ("headers", (!headers.is_empty()).then(|| headers.join(", "))),
            ("timeout", Some(format!("{} s", webhook.timeout_seconds))),
            ("retry rate", Some(rate(webhook))),
            ("backlog", webhook.backlog()),
            ("max rate", webhook.max_rate.map(|n| format!("{n}/s"))),
            (
                "max in flight",
                webhook.max_in_flight.map(|n| n.to_string()),
            ),
            (
                "auto-resume",
                Some(if webhook.auto_resume { "yes" } else { "no" }.to_owned()),
            ),
            ("next probe", webhook.next_probe_at.map(short_time)),
            ("last failure", webhook.last_failure.as_ref().map(failure)),
            ("retry", webhook.retry.overrides().as_ref().map(retry)),
            ("previous secrets", old_secrets(&webhook.secret_expires)),
            ("created", Some(short_time(webhook.created_at))),
            ("updated", Some(short_time(webhook.updated_at))),
        ],
    );
    match webhook.status {
        Word::Known(WebhookStatus::Failed | WebhookStatus::Paused | WebhookStatus::Disabled) => {
            text.push_str(&format!(
                "\n\nTo resume it: postrider webhooks resume {}",
                webhook.id
            ));
        }
        Word::Known(WebhookStatus::Active) | Word::Unknown(_) => {}
    }
    text
}

/// `8/s, limited to 2.5/s`: the configured rate of retries, and the current one of all attempts while it is limited.
fn rate(webhook: &WebhookView) -> String {
    let (configured, current) = (webhook.retry_rate, webhook.current_rate);
    match webhook.limit() {
        Some(limit) => format!("{configured}/s, {limit}"),
        None if current < f64::from(configured) => {
            format!("{configured}/s, currently {current}/s")
        }
        None => format!("{configured}/s"),
    }
}

fn failure(last: &LastFailureView) -> String {
    let error = printable_line(&last.error, 160);
    format!("{error}, {}, {}", short_time(last.at), last.delivery_id)
}

/// `standard, max_attempts 8, delays_seconds [1,2]`: the profile, then the overrides.
fn retry(settings: &RetryFields) -> String {
    let settings = serde_json::to_value(settings).unwrap_or_default();
    let text = |value: &serde_json::Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    let mut parts: Vec<String> = settings.get("profile").map(text).into_iter().collect();
    let fields = settings.as_object().into_iter().flatten();
    let changed = fields.filter(|(name, _)| *name != "profile");
    parts.extend(changed.map(|(name, value)| format!("{name} {}", text(value))));
    parts.join(", ")
}

fn old_secrets(expire: &[ApiTime]) -> Option<String> {
    let expire: Vec<String> = expire.iter().copied().map(short_time).collect();
    (!expire.is_empty()).then(|| format!("valid until {}", expire.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Format;
    use crate::views::examples;
    use postrider_api_types::retry::RetryView;
    use postrider_domain::retry::{Profile, RuntimeRetry};
    use serde_json::json;

    #[test]
    fn a_failed_webhook_is_shown_with_what_to_do_about_it() {
        let mut document = examples::webhook();
        let standard = RetryFields {
            profile: Some(Profile::Standard),
            max_attempts: Some(8),
            ..RetryFields::default()
        };
        let policy = RetryView::of(&standard.into(), RuntimeRetry::default());
        for (field, value) in [
            ("status", json!("failed")),
            ("failure_count", json!(6)),
            ("headers", json!({"authorization": "***"})),
            ("retry_rate", json!(8)),
            ("current_rate", json!(2.5)),
            ("limited", json!(true)),
            (
                "backlog",
                json!({"size": 10_000, "counted": false, "empty_at": "2026-02-21T11:06:40.000Z"}),
            ),
            ("max_rate", json!(20)),
            ("next_test_at", json!("2026-02-21T10:01:00.000Z")),
            (
                "last_failure",
                json!({"delivery_id": "dlv_1", "event_type": "a.b", "error": "HTTP status 500",
                    "at": "2026-02-21T10:00:00.000Z"}),
            ),
            ("retry", serde_json::to_value(policy).unwrap()),
        ] {
            document[field] = value;
        }
        let webhook: WebhookView = serde_json::from_value(document).unwrap();
        let shown = one(&webhook, Output::new(Format::People, true));
        for part in [
            "failed",
            "standard, max_attempts 8\n",
            "authorization: ***",
            "8/s, limited to 2.5/s",
            "more than 10000 deliveries, empty at 2026-02-21 11:06:40Z at the earliest",
            "20/s",
            "next probe",
            "HTTP status 500, ",
            "dlv_1",
            "webhooks resume wh_1",
        ] {
            assert!(format!("{shown}\n").contains(part), "{part} in {shown}");
        }
        assert!(!shown.contains("owner"), "{shown}");
    }

    #[test]
    fn the_list_says_that_a_webhook_is_degraded_and_limited() {
        let mut document = examples::webhook();
        for (field, value) in [
            ("failure_count", json!(3)),
            ("degraded", json!(true)),
            ("current_rate", json!(1.5)),
            ("limited", json!(true)),
        ] {
            document[field] = value;
        }
        let webhook = serde_json::from_value(document).unwrap();
        let shown = list(vec![webhook], Output::new(Format::People, true));
        let expected = "active, degraded (3 failures), limited to 1.5/s";
        assert!(shown.contains(expected), "{shown}");
    }
}
