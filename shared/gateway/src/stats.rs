//! Stats of webhooks over a time window, from the hourly counters.

use std::collections::BTreeMap;

use postrider_domain::delivery::Lane;
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::invalid::Invalid;
use postrider_domain::key_stats::{KeyStat, StatTotals};
use postrider_domain::time::{Millis, Timestamp};
use postrider_domain::webhook::Webhook;
use postrider_ports::backlog::Stretch;
use postrider_ports::history::HourlyStats;

use crate::{GatewayError, Ports};

/// The resolution of the counters.
const HOUR: Millis = Millis::from_seconds(3600);
/// The longest window of one report.
pub const MAX_SPAN: Millis = Millis::from_seconds(31 * 86_400);
/// The maximum number of counters that one report reads: hours times webhooks. A month of 67 webhooks, or two days of a
/// thousand.
pub const MAX_COUNTERS: u64 = 50_000;

/// Whole hours, the resolution of the counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The start of the first hour.
    pub from: Timestamp,
    /// The end of the last hour.
    pub to: Timestamp,
}

impl Window {
    /// The hours that contain the time from `from` to before `to`.
    #[must_use]
    pub fn covering(from: Timestamp, to: Timestamp) -> Self {
        let last = to.minus(Millis::new(1)).max(from);
        Self {
            from: from.hour(),
            to: last.hour().plus(HOUR),
        }
    }

    /// The hours of the last `span`, including the current one.
    #[must_use]
    pub fn last(span: Millis, now: Timestamp) -> Self {
        Self::covering(now.minus(span), now.plus(Millis::new(1)))
    }

    fn hours(self) -> impl Iterator<Item = Timestamp> {
        let next = move |hour: &Timestamp| Some(hour.plus(HOUR)).filter(|next| *next < self.to);
        std::iter::successors(Some(self.from), next)
    }

    #[must_use]
    pub const fn len_hours(self) -> u64 {
        self.to.since(self.from).get() / HOUR.get()
    }
}

/// The counters of some webhooks, and how many of these webhooks are failed now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CountedStats {
    pub tally: StatTotals,
    pub failed_webhooks: u64,
}

impl CountedStats {
    /// `None` if nothing was counted.
    #[must_use]
    pub fn value(&self, key_stat: KeyStat) -> Option<f64> {
        key_stat.value(&self.tally, self.failed_webhooks)
    }
}

#[derive(Clone, Debug)]
pub struct Report {
    pub window: Window,
    /// Includes webhooks that have been deleted since.
    pub total: CountedStats,
    /// Existing webhooks, oldest first.
    pub webhooks: Vec<(Webhook, CountedStats)>,
    /// Totals per hour, including empty hours.
    pub hours: Vec<(Timestamp, StatTotals)>,
}

/// The stats of all webhooks of a tenant, or of one.
///
/// # Errors
/// `window` is invalid if the report would read more than [`MAX_COUNTERS`].
pub async fn report(
    ports: &Ports,
    tenant: &TenantId,
    webhook: Option<WebhookId>,
    window: Window,
) -> Result<Report, GatewayError> {
    let webhooks = match webhook {
        Some(id) => Vec::from_iter(ports.store.webhook(tenant, id).await?),
        None => ports.store.webhooks(tenant).await?.webhooks,
    };
    affordable("window", window, webhooks.len())?;
    let stats = ports
        .store
        .stats(tenant, webhook, window.from, window.to)
        .await?;
    Ok(add_up(window, webhooks, &stats))
}

/// How long ago the oldest open delivery of any tenant was due, including those in flight.
pub async fn oldest_due_age(ports: &Ports, now: Timestamp) -> Result<Millis, GatewayError> {
    let mut oldest = now;
    for shard in 0..ports.store.shards() {
        for lane in [Lane::Queued, Lane::Waiting] {
            let stretch = Stretch {
                shard,
                lane,
                from: Timestamp::ZERO,
                to: now,
            };
            let rows = ports.store.rows_between(stretch, 1, None).await?;
            let first = rows.messages.first().map(|message| message.next_retry_at);
            oldest = oldest.min(first.unwrap_or(now));
        }
    }
    Ok(now.since(oldest))
}

/// `field` is what the caller can change.
fn affordable(field: &str, window: Window, webhooks: usize) -> Result<(), Invalid> {
    let webhooks = u64::try_from(webhooks).unwrap_or(u64::MAX).max(1);
    if window.len_hours().saturating_mul(webhooks) <= MAX_COUNTERS {
        return Ok(());
    }
    let hours = MAX_COUNTERS / webhooks;
    let message =
        format!("must be at most {hours} hours for {webhooks} webhooks, or set webhook_id");
    Err(Invalid::field(field, message))
}

fn add_up(window: Window, mut webhooks: Vec<Webhook>, stats: &[HourlyStats]) -> Report {
    let mut total = StatTotals::default();
    let mut by_webhook: BTreeMap<WebhookId, StatTotals> = BTreeMap::new();
    let mut by_hour: BTreeMap<Timestamp, StatTotals> = window
        .hours()
        .map(|hour| (hour, StatTotals::default()))
        .collect();
    for one in stats {
        let counted = tally(one);
        total.add(&counted);
        by_webhook.entry(one.webhook).or_default().add(&counted);
        by_hour.entry(one.hour).or_default().add(&counted);
    }
    webhooks.sort_by_key(|webhook| (webhook.created_at, webhook.id));
    let webhooks: Vec<_> = webhooks
        .into_iter()
        .map(|webhook| {
            let counted = CountedStats {
                tally: by_webhook.remove(&webhook.id).unwrap_or_default(),
                failed_webhooks: u64::from(webhook.health.status == WebhookStatus::Failed),
            };
            (webhook, counted)
        })
        .collect();
    Report {
        window,
        total: CountedStats {
            tally: total,
            failed_webhooks: webhooks.iter().map(|(_, part)| part.failed_webhooks).sum(),
        },
        webhooks,
        hours: by_hour.into_iter().collect(),
    }
}

fn tally(stats: &HourlyStats) -> StatTotals {
    let mut tally = StatTotals {
        delivered: stats.delivered,
        dead: stats.dead,
        attempts: stats.attempts,
        retried: stats.retried,
        retries: stats.retries,
        ..StatTotals::default()
    };
    for (place, count) in tally.latency.iter_mut().zip(&stats.latency) {
        *place = *count;
    }
    tally
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(from: &str, to: &str) -> (String, String, u64) {
        let at = |text: &str| Timestamp::parse_rfc3339(text).unwrap();
        let window = Window::covering(at(from), at(to));
        assert_eq!(
            u64::try_from(window.hours().count()).unwrap(),
            window.len_hours()
        );
        let text = |at: Timestamp| at.to_string()[11..16].to_owned();
        (text(window.from), text(window.to), window.len_hours())
    }

    #[test]
    fn a_window_is_widened_to_whole_hours() {
        let whole = |from: &str, to: &str, hours| (from.to_owned(), to.to_owned(), hours);
        assert_eq!(
            window("2026-02-21T10:20:00Z", "2026-02-21T11:40:00Z"),
            whole("10:00", "12:00", 2)
        );
        assert_eq!(
            window("2026-02-21T10:00:00Z", "2026-02-21T11:00:00Z"),
            whole("10:00", "11:00", 1),
            "the end is exclusive"
        );
        let now = Timestamp::parse_rfc3339("2026-02-21T10:00:00Z").unwrap();
        let last = Window::last(Millis::from_seconds(86_400), now);
        assert_eq!(
            last.len_hours(),
            25,
            "includes the hour that has just begun"
        );
    }

    #[test]
    fn one_report_reads_a_limited_number_of_counters() {
        let now = Timestamp::parse_rfc3339("2026-02-21T10:30:00Z").unwrap();
        let month = Window::last(MAX_SPAN, now);
        assert_eq!(affordable("window", month, 0), Ok(()));
        assert_eq!(affordable("window", month, 67), Ok(()));
        assert_eq!(affordable("window", Window::last(HOUR, now), 1000), Ok(()));
        let error = affordable("window", month, 1000).unwrap_err().to_string();
        assert!(error.contains("at most 50 hours"), "{error}");
    }
}
