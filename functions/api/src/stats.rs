//! ADR-0040's key stats.

pub(crate) mod window;

use axum::Json;
use axum::extract::State;
use postrider_api_types::ApiTime;
use postrider_api_types::stats::{
    HourStatsView, KeyStatsView, StatsParameters, StatsView, WebhookStatsView,
};
use postrider_domain::invalid::Invalid;
use postrider_domain::webhook::Webhook;
use postrider_gateway::stats::{self, CountedStats, Report};

use crate::Api;
use crate::auth::{Caller, Read};
use crate::extract::Query;
use crate::openapi::Problems;
use crate::problem::Problem;
use crate::stats::window::WindowInput;

/// Get the five key stats of ADR-0040 with their thresholds
///
/// Per webhook and in total, from hourly counters; the window is widened to whole hours. A delivery counts in the hour in
/// which it arrived or became dead.
#[utoipa::path(
    get, path = "/v1/stats", operation_id = "get_stats", tag = "stats", security(("token" = ["read"])),
    params(StatsParameters),
    responses((status = 200, description = "The key stats.", body = StatsView), Problems)
)]
pub(crate) async fn get(
    State(api): State<Api>,
    caller: Caller<Read>,
    Query(given): Query<StatsParameters>,
) -> Result<Json<StatsView>, Problem> {
    let ports = &api.gateway.ports;
    let mut faults = Invalid::default();
    let window = WindowInput {
        from: given.from.as_deref(),
        to: given.to.as_deref(),
        window: given.window.as_deref(),
    };
    let window = window.check(ports.clock.now(), &mut faults);
    let webhook = given
        .webhook_id
        .and_then(|text| faults.take("webhook_id", text.parse()));
    faults.into_result()?;
    let report = stats::report(ports, caller.tenant(), webhook, window).await?;
    Ok(Json(view(&report)))
}

fn view(report: &Report) -> StatsView {
    let webhooks = report.webhooks.iter();
    let hours = report.hours.iter();
    StatsView {
        from: ApiTime(report.window.from),
        to: ApiTime(report.window.to),
        total: key_stats(&report.total),
        webhooks: webhooks
            .map(|(webhook, counted)| of_webhook(webhook, counted))
            .collect(),
        hours: hours
            .map(|(hour, totals)| HourStatsView::of(*hour, totals))
            .collect(),
    }
}

fn key_stats(counted: &CountedStats) -> KeyStatsView {
    KeyStatsView::of(&counted.tally, counted.failed_webhooks)
}

fn of_webhook(webhook: &Webhook, counted: &CountedStats) -> WebhookStatsView {
    WebhookStatsView {
        id: webhook.id.to_string(),
        name: webhook.settings.name.clone(),
        status: webhook.health.status.into(),
        key_stats: key_stats(counted),
    }
}
