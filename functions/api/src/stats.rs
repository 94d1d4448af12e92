//! How the webhooks did: ADR-0040's figures.

mod view;
pub(crate) mod window;

use axum::Json;
use axum::extract::State;
use postrider_domain::invalid::Invalid;
use postrider_gateway::stats;

use crate::Api;
use crate::auth::{Caller, Read};
use crate::extract::{Parameters, Query};
use crate::openapi::Problems;
use crate::problem::Problem;
use crate::stats::view::StatsView;
use crate::stats::window::WindowInput;

/// Which webhooks, and when.
#[derive(Debug, Default)]
pub(crate) struct StatsParameters {
    window: WindowInput,
    webhook_id: Option<String>,
}

impl Parameters for StatsParameters {
    const NAMES: &'static [&'static str] = &["from", "to", "window", "webhook_id"];

    fn place(&mut self, name: &str) -> Option<&mut Option<String>> {
        match name {
            "from" => Some(&mut self.window.from),
            "to" => Some(&mut self.window.to),
            "window" => Some(&mut self.window.window),
            "webhook_id" => Some(&mut self.webhook_id),
            _ => None,
        }
    }
}

/// The five figures of ADR-0040 with their thresholds
///
/// For each webhook and in all, from hourly counters; a stretch is widened to whole hours. A delivery counts in the
/// hour in which it arrived or was given up.
#[utoipa::path(
    get, path = "/v1/stats", operation_id = "get_stats", tag = "stats", security(("token" = ["read"])),
    params(
        ("window" = Option<String>, Query, description = "How far back from `to`, in hours or days, up to 31 days; 24h unless set. Not beside `from`.", example = "7d"),
        ("from" = Option<String>, Query, description = "From this RFC 3339 time on.", format = DateTime),
        ("to" = Option<String>, Query, description = "Until before this RFC 3339 time; now unless set.", format = DateTime),
        ("webhook_id" = Option<String>, Query, description = "Of this webhook only."),
    ),
    responses((status = 200, description = "The figures.", body = StatsView), Problems)
)]
pub(crate) async fn get(
    State(api): State<Api>,
    caller: Caller<Read>,
    Query(given): Query<StatsParameters>,
) -> Result<Json<StatsView>, Problem> {
    let ports = &api.gateway.ports;
    let mut faults = Invalid::default();
    let window = given.window.check(ports.clock.now(), &mut faults);
    let webhook = given
        .webhook_id
        .and_then(|text| faults.take("webhook_id", text.parse()));
    faults.into_result()?;
    let report = stats::report(ports, caller.tenant(), webhook, window).await?;
    Ok(Json(StatsView::of(&report)))
}
