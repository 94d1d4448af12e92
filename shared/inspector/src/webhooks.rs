//! The list of webhooks, failing ones first.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use postrider_domain::health::{Health, WebhookStatus};
use postrider_domain::key_stats::KeyStat;
use postrider_domain::time::Millis;
use postrider_domain::webhook::Webhook;
use postrider_gateway::stats::{self, CountedStats, Window};

use super::charts;
use super::fields::Query;
use super::live::Place;
use super::page::{Frame, PageError, Section, html};
use super::session::Viewer;
use super::site::Site;
use super::text::{self, Pill};
use crate::App;

/// The time range of a webhook's stats.
pub(super) const DAY: Millis = Millis::from_seconds(86_400);

#[derive(Template)]
#[template(path = "webhooks.html")]
struct WebhooksPage {
    frame: Frame,
    webhooks: Vec<WebhookLine>,
}

struct WebhookLine {
    id: String,
    name: String,
    url: String,
    event_types: String,
    state: Pill,
    note: Option<String>,
    success: Option<String>,
    success_is_bad: bool,
    delivered: String,
    dead: u64,
}

/// A note next to the state.
fn note(site: Site, health: &Health) -> Option<String> {
    match health.status {
        WebhookStatus::Active if health.is_degraded() => Some(text::RETRYING.to_owned()),
        WebhookStatus::Active => None,
        WebhookStatus::Failed | WebhookStatus::Paused | WebhookStatus::Disabled => {
            // Addresses are hidden first: half of one would not be recognised.
            let reason = text::short(&site.shown(text::reason(health)), 120);
            Some(reason).filter(|reason| !reason.is_empty())
        }
    }
}

fn line(viewer: &Viewer, (webhook, counted): &(Webhook, CountedStats)) -> WebhookLine {
    let success = counted.value(KeyStat::SuccessRate);
    let types: Vec<_> = webhook
        .settings
        .event_types
        .iter()
        .map(ToString::to_string)
        .collect();
    WebhookLine {
        id: webhook.id.to_string(),
        name: webhook.settings.name.clone(),
        url: text::short(webhook.settings.target_url.as_str(), 80),
        event_types: text::short(&types.join(", "), 60),
        state: text::webhook_state(&webhook.health),
        note: note(viewer.site(), &webhook.health),
        success: success.map(|value| charts::value(KeyStat::SuccessRate, value)),
        success_is_bad: success.is_some_and(|value| KeyStat::SuccessRate.alerts_at(value)),
        delivered: text::count(counted.tally.delivered),
        dead: counted.tally.dead,
    }
}

pub(super) async fn list(
    State(app): State<App>,
    viewer: Viewer,
    place: Place,
    Query(fields): Query,
) -> Result<Response, PageError> {
    let ports = &app.gateway.ports;
    let window = Window::last(DAY, ports.clock.now());
    let mut report = stats::report(ports, viewer.tenant(), None, window).await?;
    report
        .webhooks
        .sort_by_key(|(webhook, _)| match webhook.health.status {
            WebhookStatus::Failed | WebhookStatus::Disabled => 0,
            WebhookStatus::Active if webhook.health.failure_count > 0 => 1,
            WebhookStatus::Paused => 2,
            WebhookStatus::Active => 3,
        });
    let page = WebhooksPage {
        frame: Frame::new("Webhooks", Section::Webhooks, &viewer)
            .after(&fields)
            .live(place),
        webhooks: report
            .webhooks
            .iter()
            .map(|counted| line(&viewer, counted))
            .collect(),
    };
    Ok(html(StatusCode::OK, &page))
}

#[cfg(test)]
mod tests {
    use postrider_domain::health::StatusReason;

    use super::*;

    #[test]
    fn a_customer_sees_no_part_of_an_address() {
        for padding in 60..120 {
            let text = format!("{} 10.12.34.56:8443 did not answer", "x".repeat(padding));
            let health = Health {
                status: WebhookStatus::Failed,
                reason: Some(StatusReason::Text { text }),
                ..Health::default()
            };
            let shown = note(Site::Portal, &health).unwrap();
            assert!(!shown.contains("10."), "{shown}");
            assert!(shown.chars().count() <= 121, "{shown}");
            let whole = note(Site::Inspector, &health).unwrap();
            assert!(padding > 100 || whole.contains("10.12.34.56"), "{whole}");
        }
    }
}
