//! `/metrics` in Prometheus' text format.

mod counters;
mod gauges;

use std::cmp::Reverse;

use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header;
use postrider_api_types::{parameters, schema};
use postrider_domain::flow::FlowStatus;
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::invalid::Invalid;
use postrider_domain::time::Timestamp;
use postrider_domain::webhook::Webhook;
use postrider_gateway::stats;
use postrider_gateway::usage::{self, Days, TenantUsage};
use postrider_ports::drains::BacklogSize;

use crate::Api;
use crate::auth::{Caller, Read};
use crate::extract::Query;
use crate::openapi::Problems;
use crate::problem::Problem;
use crate::stats::window::WindowInput;

pub use counters::Counters;

/// <https://prometheus.io/docs/instrumenting/exposition_formats/>
const TEXT_FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

parameters! {
    /// The window of the key stats.
    pub(crate) struct MetricsParameters as "MetricsParameters" {
        /// How far back the key stats go, such as `24h` or `7d`: 1 hour to 31 days, 24 hours by default.
        window: schema::Window,
    }
}

/// A scrape counts the backlogs of at most this many webhooks.
const COUNTED_PER_SCRAPE: usize = 100;

/// The backlogs of webhooks that are stopped, limited or failing, as far as they can be counted. Deliveries of other
/// webhooks wait for nothing.
async fn backlogs(
    api: &Api,
    webhooks: &[Webhook],
    flows: &[FlowStatus],
) -> Vec<(WebhookId, BacklogSize)> {
    let may_have_one = |(webhook, flow): &(&Webhook, &FlowStatus)| {
        let health = &webhook.health;
        health.status.is_stopped() || flow.limited || flow.capped || health.failure_count > 0
    };
    let waiting = webhooks.iter().zip(flows).filter(may_have_one);
    let mut found = Vec::new();
    for (webhook, flow) in waiting.take(COUNTED_PER_SCRAPE) {
        let backlog = api.gateway.manage.backlog(webhook, *flow).await;
        found.extend(backlog.map(|backlog| (webhook.id, backlog.size)));
    }
    found
}

/// A scrape shows the usage of this many tenants.
const TENANTS_PER_SCRAPE: usize = 100;
/// Among this many.
const TENANTS_EXAMINED: usize = 1000;

/// The tenants that published most today.
async fn usage_today(api: &Api, now: Timestamp) -> Result<Vec<(TenantId, TenantUsage)>, Problem> {
    let mut found = Vec::new();
    for tenant in api.gateway.tenants.list(TENANTS_EXAMINED, None).await? {
        let days = Days::until(now, 1);
        let days = usage::per_day(&api.gateway.ports, &tenant.id, days).await?;
        found.push((tenant.id, TenantUsage::total(&days)));
    }
    found.sort_by_key(|(id, usage)| (Reverse(usage.published), id.clone()));
    found.truncate(TENANTS_PER_SCRAPE);
    Ok(found)
}

/// Get metrics for Prometheus
///
/// The five key stats of ADR-0040 as gauges, over the same window as `/v1/stats`; a stat without data is left out. Keys
/// of the tenant `default` also get the metrics of the process, across all tenants.
#[utoipa::path(
    get, path = "/metrics", operation_id = "get_metrics", tag = "stats", security(("token" = ["read"])),
    params(MetricsParameters),
    responses((status = 200, description = "Metrics in the Prometheus text format.", body = String, content_type = "text/plain"), Problems)
)]
pub(crate) async fn get(
    State(api): State<Api>,
    caller: Caller<Read>,
    counters: Option<Extension<Counters>>,
    Query(given): Query<MetricsParameters>,
) -> Result<Response, Problem> {
    let ports = &api.gateway.ports;
    let now = ports.clock.now();
    let mut faults = Invalid::default();
    let window = WindowInput {
        window: given.window.as_deref(),
        ..WindowInput::default()
    };
    let window = window.check(now, &mut faults);
    faults.into_result()?;
    let tenant = caller.tenant();
    let report = stats::report(ports, tenant, None, window).await?;
    let webhooks: Vec<_> = report
        .webhooks
        .iter()
        .map(|(webhook, _)| webhook.clone())
        .collect();
    let flows = api.gateway.manage.flows(&webhooks).await?;
    let mut text = gauges::of_tenant(&report, &flows);
    // On AWS each count costs as many reads as there are shards, so it is not part of a scrape there.
    if counters.is_some() {
        let backlogs = backlogs(&api, &webhooks, &flows).await;
        text.push_str(&gauges::of_backlogs(&backlogs));
    }
    // The metrics of the process cover every tenant, so only its operator may see them.
    if let Some(Extension(counters)) = counters.filter(|_| *tenant == TenantId::default()) {
        let oldest_due_age = stats::oldest_due_age(ports, now).await?;
        text.push_str(&gauges::of_process(oldest_due_age));
        text.push_str(&gauges::of_tenants(&usage_today(&api, now).await?));
        text.push_str(&counters.render());
    }
    Ok(([(header::CONTENT_TYPE, TEXT_FORMAT)], text).into_response())
}
