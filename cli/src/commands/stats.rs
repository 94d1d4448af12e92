//! `postrider stats`: how the webhooks did.

use clap::Args;
use http::Method;
use serde::Deserialize;

use crate::client::{Answer, Client};
use crate::failure::{Ending, Failure};
use crate::output::{Output, printable_line};
use crate::table::{Mark, Table};
use crate::when::short_time;

const AFTER_HELP: &str = "\
Examples:
  postrider stats
  postrider stats --window 7d --webhook wh_…
  postrider stats --json | jq '.hours[] | [.hour, .delivered, .dead]'

A ✗ stands before a figure that is beyond its threshold. Counters are kept by the hour, so the window is \
widened to whole hours; nothing is shown for a figure in which nothing happened.";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct StatsArgs {
    /// How far back, in hours or days, up to 31 days
    #[arg(long, default_value = "24h", value_name = "SPAN")]
    window: String,

    /// Of this webhook only
    #[arg(long, value_name = "ID")]
    webhook: Option<String>,
}

/// How the webhooks did over whole hours.
#[derive(Debug, Deserialize)]
pub(super) struct Stats {
    from: String,
    to: String,
    pub(super) total: Figures,
    webhooks: Vec<OfWebhook>,
}

/// The five figures, and some of the counters that they come from.
#[derive(Debug, Deserialize)]
pub(super) struct Figures {
    webhook_delivery_success_rate: Figure,
    webhook_delivery_p95_latency: Figure,
    webhook_retry_rate: Figure,
    webhook_failed_count: Figure,
    webhook_avg_retries_per_delivery: Figure,
    pub(super) delivered: u64,
    pub(super) dead: u64,
    pub(super) attempts: u64,
}

/// A figure, and whether it is one to worry about.
#[derive(Debug, Deserialize)]
pub(super) struct Figure {
    value: Option<f64>,
    threshold: f64,
    comparison: String,
    alerting: bool,
}

#[derive(Debug, Deserialize)]
struct OfWebhook {
    id: String,
    name: String,
    status: String,
    #[serde(flatten)]
    figures: Figures,
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

/// Asks for the figures of a window, of one webhook or of all.
pub(super) async fn ask(
    client: &Client,
    window: String,
    webhook: Option<String>,
) -> Result<Answer, Failure> {
    let mut query = vec![("window", window)];
    query.extend(webhook.map(|id| ("webhook_id", id)));
    let request = client.request(Method::GET, &["v1", "stats"])?.query(&query);
    client.send(request).await
}

fn show(stats: Stats, out: Output) -> String {
    let total = &stats.total;
    let span = format!("{} to {}", short_time(&stats.from), short_time(&stats.to));
    let counted = format!(
        "{} delivered, {} dead, {} attempts",
        total.delivered, total.dead, total.attempts
    );
    let mut parts = vec![format!("{span}: {counted}"), in_all(total).show(out)];
    if !stats.webhooks.is_empty() {
        parts.push(by_webhook(stats.webhooks).show(out));
    }
    parts.join("\n\n")
}

fn in_all(total: &Figures) -> Table {
    let mut table = Table::new(["FIGURE", "VALUE", "BAD WHEN"]);
    for (name, figure, unit) in total.all() {
        table.row(
            figure.mark(),
            [name.to_owned(), figure.show(unit), figure.bad_when(unit)],
        );
    }
    table
}

fn by_webhook(webhooks: Vec<OfWebhook>) -> Table {
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
    for OfWebhook {
        id,
        name,
        status,
        figures,
    } in webhooks
    {
        table.row(
            figures.mark(&status),
            [
                id,
                printable_line(&name, 30),
                status,
                figures.delivered.to_string(),
                figures.dead.to_string(),
                figures.webhook_delivery_success_rate.show(" %"),
                figures.webhook_delivery_p95_latency.show(" s"),
                figures.webhook_retry_rate.show(" %"),
            ],
        );
    }
    table
}

impl Figures {
    /// All five: name, figure, unit.
    pub(super) fn all(&self) -> [(&'static str, &Figure, &'static str); 5] {
        [
            (
                "webhook_delivery_success_rate",
                &self.webhook_delivery_success_rate,
                " %",
            ),
            (
                "webhook_delivery_p95_latency",
                &self.webhook_delivery_p95_latency,
                " s",
            ),
            ("webhook_retry_rate", &self.webhook_retry_rate, " %"),
            ("webhook_failed_count", &self.webhook_failed_count, ""),
            (
                "webhook_avg_retries_per_delivery",
                &self.webhook_avg_retries_per_delivery,
                "",
            ),
        ]
    }

    /// Bad if any figure is, or the webhook takes nothing any more.
    fn mark(&self, status: &str) -> Mark {
        let figures = [
            &self.webhook_delivery_success_rate,
            &self.webhook_delivery_p95_latency,
            &self.webhook_retry_rate,
            &self.webhook_avg_retries_per_delivery,
        ];
        if status == "failed" || figures.iter().any(|figure| figure.alerting) {
            Mark::Bad
        } else {
            self.webhook_delivery_success_rate.mark()
        }
    }
}

impl Figure {
    /// Whether it is beyond its threshold.
    pub(super) fn mark(&self) -> Mark {
        match self.value {
            _ if self.alerting => Mark::Bad,
            Some(_) => Mark::Good,
            None => Mark::Waiting,
        }
    }

    /// `99.17 %`; two decimals where there are any.
    pub(super) fn show(&self, unit: &str) -> String {
        let Some(value) = self.value else {
            return "–".to_owned();
        };
        let rounded = format!("{value:.2}");
        let short = rounded.trim_end_matches('0').trim_end_matches('.');
        format!("{short}{unit}")
    }

    /// `below 95 %`.
    pub(super) fn bad_when(&self, unit: &str) -> String {
        format!("{} {}{unit}", self.comparison, self.threshold)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Format;

    fn figure(value: Option<f64>, alerting: bool) -> Figure {
        let comparison = "above".to_owned();
        Figure {
            value,
            threshold: 1.5,
            comparison,
            alerting,
        }
    }

    #[test]
    fn figures_are_short_and_marked() {
        let shown = |value| figure(Some(value), false).show(" s");
        assert_eq!(
            (shown(10.0), shown(0.0095), shown(99.166)),
            ("10 s".into(), "0.01 s".into(), "99.17 s".into())
        );
        assert_eq!(figure(None, false).show(" s"), "–");
        assert_eq!(figure(None, false).mark(), Mark::Waiting);
        assert_eq!(figure(Some(2.0), true).mark(), Mark::Bad);
    }

    #[test]
    fn a_table_names_every_figure_and_its_threshold() {
        let total = Figures {
            webhook_delivery_success_rate: figure(Some(100.0), false),
            webhook_delivery_p95_latency: figure(Some(2.0), true),
            webhook_retry_rate: figure(None, false),
            webhook_failed_count: figure(Some(0.0), false),
            webhook_avg_retries_per_delivery: figure(None, false),
            delivered: 1,
            dead: 0,
            attempts: 1,
        };
        let stats = Stats {
            from: "2026-02-20T10:00:00.000Z".to_owned(),
            to: "2026-02-21T11:00:00.000Z".to_owned(),
            total,
            webhooks: Vec::new(),
        };
        assert_eq!(
            show(stats, Output::new(Format::People, true)),
            "2026-02-20 10:00:00Z to 2026-02-21 11:00:00Z: 1 delivered, 0 dead, 1 attempts\n\n  \
             FIGURE                            VALUE  BAD WHEN\n\
             ✓ webhook_delivery_success_rate     100 %  above 1.5 %\n\
             ✗ webhook_delivery_p95_latency      2 s    above 1.5 s\n\
             · webhook_retry_rate                –      above 1.5 %\n\
             ✓ webhook_failed_count              0      above 1.5\n\
             · webhook_avg_retries_per_delivery  –      above 1.5"
        );
    }
}
