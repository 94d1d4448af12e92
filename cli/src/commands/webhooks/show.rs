//! Displays webhooks.

use postrider_domain::retry::RetrySettings;

use crate::output::{Output, Tone, printable_line};
use crate::shapes::{LastFailure, Webhook};
use crate::table::{Table, facts};
use crate::when::short_time;

pub(super) const SAVE_THE_SECRET: &str =
    "Save the secret now: it is not shown again. Receivers need it to verify signatures.";

pub(super) fn list(webhooks: Vec<Webhook>, out: Output) -> String {
    let mut table = Table::new(["ID", "NAME", "STATUS", "EVENT TYPES", "TARGET"]);
    for webhook in webhooks {
        let status = match webhook.failure_count {
            0 => webhook.status.clone(),
            1 => format!("{}, 1 failure", webhook.status),
            n => format!("{}, {n} failures", webhook.status),
        };
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

pub(super) fn one(webhook: &Webhook, out: Output) -> String {
    let headers = webhook
        .headers
        .as_ref()
        .filter(|headers| !headers.is_empty())
        .map(|headers| {
            let shown = headers
                .iter()
                .map(|(name, value)| format!("{name}: {value}"));
            shown.collect::<Vec<_>>().join(", ")
        });
    let mut text = facts(
        out,
        [
            ("webhook", Some(webhook.id.clone())),
            ("name", Some(webhook.name.clone())),
            ("status", Some(webhook.state())),
            ("reason", webhook.status_reason.clone()),
            ("target", Some(webhook.target_url.clone())),
            ("event types", Some(webhook.event_types.join(", "))),
            ("owner", webhook.owner_email.clone()),
            ("headers", headers),
            (
                "timeout",
                webhook
                    .timeout_seconds
                    .map(|seconds| format!("{seconds} s")),
            ),
            ("retry rate", rate(webhook)),
            (
                "auto-resume",
                webhook
                    .auto_resume
                    .map(|on| if on { "yes" } else { "no" }.to_owned()),
            ),
            (
                "next probe",
                webhook.next_probe_at.as_deref().map(short_time),
            ),
            ("last failure", webhook.last_failure.as_ref().map(failure)),
            ("retry", webhook.retry_settings().as_ref().map(retry)),
            ("previous secrets", old_secrets(&webhook.secret_expires)),
            ("created", webhook.created_at.as_deref().map(short_time)),
            ("updated", webhook.updated_at.as_deref().map(short_time)),
        ],
    );
    match webhook.status.as_str() {
        "failed" | "paused" | "disabled" => {
            text.push_str(&format!(
                "\n\nTo resume it: postrider webhooks resume {}",
                webhook.id
            ));
        }
        _ => {}
    }
    if let Some(secret) = &webhook.secret {
        text.push_str(&format!("\n\n{}", out.paint(Tone::Strong, secret.expose())));
    }
    text
}

/// `8/s, currently 2.5/s`: the configured rate, and the current one while it is reduced.
fn rate(webhook: &Webhook) -> Option<String> {
    let configured = webhook.retry_rate?;
    let slower = webhook.current_rate;
    let slower = slower.filter(|rate| *rate < f64::from(configured));
    Some(match slower {
        Some(rate) => format!("{configured}/s, currently {rate}/s"),
        None => format!("{configured}/s"),
    })
}

fn failure(last: &LastFailure) -> String {
    let error = printable_line(&last.error, 160);
    format!("{error}, {}, {}", short_time(&last.at), last.delivery_id)
}

/// `standard, max_attempts 8, delays_seconds [1,2]`: the profile, then the overrides.
fn retry(settings: &RetrySettings) -> String {
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

fn old_secrets(expire: &[String]) -> Option<String> {
    let expire: Vec<String> = expire.iter().map(|at| short_time(at)).collect();
    (!expire.is_empty()).then(|| format!("valid until {}", expire.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Format;

    #[test]
    fn a_failed_webhook_is_shown_with_what_to_do_about_it() {
        let webhook: Webhook = serde_json::from_str(
            r#"{"id":"wh_1","name":"n","target_url":"https://example.com/","event_types":["*"],"status":"failed",
                "failure_count":6,"owner_email":null,"headers":{"authorization":"***"},"timeout_seconds":10,
                "retry_rate":8,"current_rate":2.5,"next_test_at":"2026-02-21T10:01:00.000Z",
                "last_failure":{"delivery_id":"dlv_1","event_type":"a.b","error":"HTTP status 500",
                "at":"2026-02-21T10:00:00.000Z"},
                "retry":{"profile":"standard","max_attempts":8,"jitter_bps":null},"secret":null}"#,
        )
        .unwrap();
        let shown = one(&webhook, Output::new(Format::People, true));
        for part in [
            "failed",
            "standard, max_attempts 8\n",
            "authorization: ***",
            "8/s, currently 2.5/s",
            "next probe",
            "HTTP status 500, ",
            "dlv_1",
            "webhooks resume wh_1",
        ] {
            assert!(format!("{shown}\n").contains(part), "{part} in {shown}");
        }
        assert!(!shown.contains("owner"), "{shown}");
    }
}
