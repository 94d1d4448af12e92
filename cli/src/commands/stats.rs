//! `postrider stats`: key stats of the webhooks.

use clap::Args;
use http::Method;
use postrider_api_types::stats::{
    KeyStatView, KeyStatsView, StatsParameters, StatsView, WebhookStatsView,
};
use postrider_domain::health::WebhookStatus;

use crate::client::{Answer, Client};
use crate::failure::{Ending, Failure};
use crate::output::{Output, plural, printable_line};
use crate::table::{Mark, Table};
use crate::when::short_time;

const AFTER_HELP: &str = "\
Examples:
  postrider stats
  postrider stats --window 7d --webhook wh_…
  postrider stats --json | jq '.hours[] | [.hour, .delivered, .dead]'

✗ marks a stat that is beyond its threshold, – a stat without data. Stats are stored by the hour, so the \
window is widened to whole hours.";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct StatsArgs {
    /// How far back to look, 1h to 31d
    #[arg(long, default_value = "24h", value_name = "DURATION")]
    window: String,

    /// Only this webhook
    #[arg(long, value_name = "ID")]
    webhook: Option<String>,
}

pub(crate) async fn run(args: StatsArgs, client: &Client, out: Output) -> Result<Ending, Failure> {
    let answer = ask(client, args.window, args.webhook).await?;
    if out.wants_json() {
        out.document(&answer.text)?;
    } else {
        out.line(show(answer.read()?, out))?;
    }
    Ok(Ending::Fine)
}

/// Requests the stats of a window, for one webhook or all.
pub(super) async fn ask(
    client: &Client,
    window: String,
    webhook: Option<String>,
) -> Result<Answer, Failure> {
    let query = StatsParameters {
        window: Some(window),
        webhook_id: webhook,
        ..StatsParameters::default()
    };
    let request = client.request(Method::GET, &["v1", "stats"])?.query(&query);
    client.send(request).await
}

fn show(stats: StatsView, out: Output) -> String {
    let total = &stats.total.counters;
    let span = format!("{} to {}", short_time(stats.from), short_time(stats.to));
    let counted = format!(
        "{} delivered, {} dead, {}",
        total.delivered,
        total.dead,
        plural(total.attempts, "attempt")
    );
    let mut parts = vec![format!("{span}: {counted}"), in_all(&stats.total).show(out)];
    if !stats.webhooks.is_empty() {
        parts.push(by_webhook(stats.webhooks).show(out));
    }
    parts.join("\n\n")
}

fn in_all(total: &KeyStatsView) -> Table {
    let mut table = Table::new(["STAT", "VALUE", "ALERT WHEN"]);
    for (name, key_stat, unit) in named(total) {
        table.row(
            key_stat.mark(),
            [
                name.to_owned(),
                key_stat.show(unit),
                key_stat.bad_when(unit),
            ],
        );
    }
    table
}

fn by_webhook(webhooks: Vec<WebhookStatsView>) -> Table {
    let mut table = Table::new([
        "WEBHOOK",
        "NAME",
        "STATUS",
        "DELIVERED",
        "DEAD",
        "SUCCESS",
        "P95",
        "RETRIED",
    ]);
    for webhook in webhooks {
        let key_stats = &webhook.key_stats;
        table.row(
            mark(&webhook),
            [
                webhook.id.clone(),
                printable_line(&webhook.name, 30),
                webhook.status.to_string(),
                key_stats.counters.delivered.to_string(),
                key_stats.counters.dead.to_string(),
                key_stats.webhook_delivery_success_rate.show(" %"),
                key_stats.webhook_delivery_p95_latency.show(" s"),
                key_stats.webhook_retry_rate.show(" %"),
            ],
        );
    }
    table
}

/// All five: name, stat, unit.
pub(super) fn named(key_stats: &KeyStatsView) -> [(&'static str, &KeyStatView, &'static str); 5] {
    [
        (
            "webhook_delivery_success_rate",
            &key_stats.webhook_delivery_success_rate,
            " %",
        ),
        (
            "webhook_delivery_p95_latency",
            &key_stats.webhook_delivery_p95_latency,
            " s",
        ),
        ("webhook_retry_rate", &key_stats.webhook_retry_rate, " %"),
        ("webhook_failed_count", &key_stats.webhook_failed_count, ""),
        (
            "webhook_avg_retries_per_delivery",
            &key_stats.webhook_avg_retries_per_delivery,
            "",
        ),
    ]
}

/// Bad if any stat is beyond its threshold or the webhook has failed.
fn mark(webhook: &WebhookStatsView) -> Mark {
    let key_stats = &webhook.key_stats;
    let own = [
        &key_stats.webhook_delivery_success_rate,
        &key_stats.webhook_delivery_p95_latency,
        &key_stats.webhook_retry_rate,
        &key_stats.webhook_avg_retries_per_delivery,
    ];
    if webhook.status == WebhookStatus::Failed || own.iter().any(|key_stat| key_stat.alerting) {
        Mark::Bad
    } else {
        key_stats.webhook_delivery_success_rate.mark()
    }
}

pub(super) trait ShowKeyStat {
    fn mark(&self) -> Mark;

    /// `99.17 %`; at most two decimals.
    fn show(&self, unit: &str) -> String;

    /// `below 95 %`.
    fn bad_when(&self, unit: &str) -> String;
}

impl ShowKeyStat for KeyStatView {
    fn mark(&self) -> Mark {
        match self.value {
            _ if self.alerting => Mark::Bad,
            Some(_) => Mark::Good,
            None => Mark::Waiting,
        }
    }

    fn show(&self, unit: &str) -> String {
        let Some(value) = self.value else {
            return "–".to_owned();
        };
        let rounded = format!("{value:.2}");
        let short = rounded.trim_end_matches('0').trim_end_matches('.');
        format!("{short}{unit}")
    }

    fn bad_when(&self, unit: &str) -> String {
        format!("{} {}{unit}", self.comparison, self.threshold)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Format;
    use postrider_api_types::ApiTime;
    use postrider_api_types::stats::CountersView;
    use postrider_domain::key_stats::Comparison;
    use postrider_domain::time::Timestamp;

    fn key_stat(value: Option<f64>, alerting: bool) -> KeyStatView {
        KeyStatView {
            value,
            threshold: 1.5,
            comparison: Comparison::Above.into(),
            alerting,
        }
    }

    #[test]
    fn stats_are_short_and_marked() {
        let shown = |value| key_stat(Some(value), false).show(" s");
        assert_eq!(
            (shown(10.0), shown(0.0095), shown(99.166)),
            ("10 s".into(), "0.01 s".into(), "99.17 s".into())
        );
        assert_eq!(key_stat(None, false).show(" s"), "–");
        assert_eq!(key_stat(None, false).mark(), Mark::Waiting);
        assert_eq!(key_stat(Some(2.0), true).mark(), Mark::Bad);
    }

    #[test]
    fn the_table_lists_every_stat_and_its_threshold() {
        let total = KeyStatsView {
            webhook_delivery_success_rate: key_stat(Some(100.0), false),
            webhook_delivery_p95_latency: key_stat(Some(2.0), true),
            webhook_retry_rate: key_stat(None, false),
            webhook_failed_count: key_stat(Some(0.0), false),
            webhook_avg_retries_per_delivery: key_stat(None, false),
            counters: CountersView {
                delivered: 1,
                attempts: 1,
                ..CountersView::default()
            },
        };
        let stats = StatsView {
            from: ApiTime(Timestamp::from_millis(1_771_581_600_000)),
            to: ApiTime(Timestamp::from_millis(1_771_671_600_000)),
            total,
            webhooks: Vec::new(),
            hours: Vec::new(),
        };
        assert_eq!(
            show(stats, Output::new(Format::People, true)),
            "2026-02-20 10:00:00Z to 2026-02-21 11:00:00Z: 1 delivered, 0 dead, 1 attempt\n\n  \
             STAT                              VALUE  ALERT WHEN\n\
             ✓ webhook_delivery_success_rate     100 %  above 1.5 %\n\
             ✗ webhook_delivery_p95_latency      2 s    above 1.5 s\n\
             · webhook_retry_rate                –      above 1.5 %\n\
             ✓ webhook_failed_count              0      above 1.5\n\
             · webhook_avg_retries_per_delivery  –      above 1.5"
        );
    }
}
