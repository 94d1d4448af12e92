//! A hundred webhooks, one of which gets each event: what it costs to select it by filters instead of event types.

use std::path::Path;

use serde_json::{Value, json};

use crate::arrivals::Arrivals;
use crate::pipeline::{Pipeline, Requests};
use crate::plan::Plan;
use crate::report::{Bar, Report};

const OF: &str = "100 webhooks, one of which gets the event, 1 KiB, 32 connections";
const WEBHOOKS: usize = 100;

pub(crate) async fn measure(plan: &Plan, disk: &Path, arrivals: &Arrivals, report: &mut Report) {
    let (mut by_type, mut by_filter) = (f64::INFINITY, f64::INFINITY);
    // Alternating, and the best of each: other load on the machine makes a round more expensive, never cheaper.
    for _ in 0..plan.filter_rounds {
        by_type = by_type.min(round(plan, disk, arrivals, selected_by_type).await);
        by_filter = by_filter.min(round(plan, disk, arrivals, selected_by_filter).await);
    }
    let mut of = report.of(OF);
    of.measurement("by event type: CPU per event", by_type, "µs");
    of.measurement("by filter: CPU per event", by_filter, "µs");
    let ratio = by_filter / by_type;
    of.against(Bar::AtMost(1.5), "by filter ÷ by event type", ratio, "");
}

/// The CPU of the gateway per event, in microseconds.
async fn round(plan: &Plan, disk: &Path, arrivals: &Arrivals, settings: fn(usize) -> Value) -> f64 {
    let mut pipeline = Pipeline::of_one_among(disk, arrivals, (0..WEBHOOKS).map(settings)).await;
    let run = pipeline.publish_as(Requests::Selected, plan.cost).await;
    pipeline.stop().await;
    run.used.cpu_seconds / plan.cost as f64 * 1e6
}

fn selected_by_type(n: usize) -> Value {
    let event_type = if n == 0 { "bench.*" } else { "other.*" };
    json!({ "event_types": [event_type] })
}

/// Only the last condition of each filter differs, so all of them are evaluated.
fn selected_by_filter(n: usize) -> Value {
    let start = if n == 0 {
        "x".to_owned()
    } else {
        format!("lane-{n}")
    };
    let filter =
        json!({"at": [{"exists": true}], "n": [{"prefix": "0"}], "text": [{"prefix": start}]});
    json!({"event_types": ["bench.*"], "filter": filter})
}
