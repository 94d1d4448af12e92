//! Gauges read at scrape time. Each scrape has its own recorder, so one tenant's stats never appear in another's.

use metrics::{describe_gauge, gauge, with_local_recorder};
use metrics_exporter_prometheus::PrometheusBuilder;
use postrider_domain::flow::FlowStatus;
use postrider_domain::health::Health;
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::key_stats::KeyStat;
use postrider_domain::time::Millis;
use postrider_gateway::stats::Report;
use postrider_gateway::usage::TenantUsage;
use postrider_ports::drains::BacklogSize;

const WEBHOOK_STATUS: &str = "postrider_webhook_status";
const WEBHOOK_RATE: &str = "postrider_webhook_rate";
const WEBHOOK_LIMITED: &str = "postrider_webhook_limited";
const WEBHOOK_BACKLOG: &str = "postrider_webhook_backlog";
const FIGURE_THRESHOLD: &str = "postrider_figure_threshold";
const TENANT_USAGE: &str = "postrider_tenant_usage";
const OLDEST_DUE_AGE: &str = "postrider_oldest_due_age_seconds";

/// The key stats, and each webhook's state and current rate. `flows` is in the order of the webhooks.
pub(super) fn of_tenant(report: &Report, flows: &[FlowStatus]) -> String {
    written(|| {
        for key_stat in KeyStat::ALL {
            if let Some(value) = report.total.value(key_stat) {
                describe_gauge!(key_stat.name(), key_stat.description());
                gauge!(key_stat.name()).set(value);
            }
        }
        describe_gauge!(
            FIGURE_THRESHOLD,
            "Alert threshold of a key stat (ADR-0040); the label bad says on which side"
        );
        for key_stat in KeyStat::ALL {
            let (bad, threshold) = key_stat.threshold();
            let (key_stat, bad) = (key_stat.name(), bad.as_str());
            gauge!(FIGURE_THRESHOLD, "figure" => key_stat, "bad" => bad).set(threshold);
        }
        describe_gauge!(
            WEBHOOK_STATUS,
            "1 for the webhook's current state: active, degraded, failed, paused or disabled"
        );
        for (webhook, _) in &report.webhooks {
            let (id, status) = (webhook.id.to_string(), state(&webhook.health));
            gauge!(WEBHOOK_STATUS, "webhook_id" => id, "status" => status).set(1);
        }
        describe_gauge!(
            WEBHOOK_RATE,
            "Current rate of a webhook in attempts per second, for retries and, while it is limited, for all attempts"
        );
        describe_gauge!(
            WEBHOOK_LIMITED,
            "1 while all attempts of the webhook are rate limited, because its receiver cannot keep up or it was just resumed"
        );
        for ((webhook, _), flow) in report.webhooks.iter().zip(flows) {
            let id = webhook.id.to_string();
            gauge!(WEBHOOK_RATE, "webhook_id" => id.clone()).set(flow.per_second());
            gauge!(WEBHOOK_LIMITED, "webhook_id" => id).set(f64::from(u8::from(flow.limited)));
        }
    })
}

pub(super) fn of_backlogs(backlogs: &[(WebhookId, BacklogSize)]) -> String {
    written(|| {
        describe_gauge!(
            WEBHOOK_BACKLOG,
            "Deliveries of a webhook that are due and may not go yet, counted up to 10,000"
        );
        for (webhook, size) in backlogs {
            let rows = u32::try_from(size.rows()).unwrap_or(u32::MAX);
            gauge!(WEBHOOK_BACKLOG, "webhook_id" => webhook.to_string()).set(rows);
        }
    })
}

pub(super) fn of_process(oldest_due_age: Millis) -> String {
    written(|| {
        describe_gauge!(
            OLDEST_DUE_AGE,
            "Age of the oldest due delivery in seconds, including deliveries being attempted"
        );
        gauge!(OLDEST_DUE_AGE).set(std::time::Duration::from(oldest_due_age).as_secs_f64());
    })
}

pub(super) fn of_tenants(used: &[(TenantId, TenantUsage)]) -> String {
    written(|| {
        describe_gauge!(
            TENANT_USAGE,
            "What a tenant used since midnight UTC; the label what says whether published, delivered, attempts or bytes"
        );
        for (tenant, usage) in used {
            for (what, count) in [
                ("published", usage.published),
                ("delivered", usage.delivered),
                ("attempts", usage.attempts),
                ("bytes", usage.bytes),
            ] {
                let tenant = tenant.to_string();
                gauge!(TENANT_USAGE, "tenant" => tenant, "what" => what).set(as_f64(count));
            }
        }
    })
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of a day stay below 2^53"
)]
const fn as_f64(count: u64) -> f64 {
    count as f64
}

fn state(health: &Health) -> &'static str {
    if health.is_degraded() {
        "degraded"
    } else {
        health.status.as_str()
    }
}

fn written(set: impl FnOnce()) -> String {
    let recorder = PrometheusBuilder::new().build_recorder();
    let handle = recorder.handle();
    with_local_recorder(&recorder, set);
    handle.render()
}
