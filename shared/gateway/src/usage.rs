//! What a tenant used, per day, from the hourly counters of its webhooks.

use std::collections::BTreeMap;

use postrider_domain::ids::TenantId;
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::history::HourlyStats;

use crate::stats::MAX_COUNTERS;
use crate::{GatewayError, Ports};

const DAY: Millis = Millis::from_seconds(86_400);
/// The most days of one report.
pub const MAX_DAYS: u64 = 31;

/// Whole days, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Days {
    /// The start of the first day.
    pub first: Timestamp,
    /// The start of the last day.
    pub last: Timestamp,
}

impl Days {
    /// The last days, including today.
    #[must_use]
    pub fn until(now: Timestamp, count: u64) -> Self {
        let last = now.day();
        let back = Millis::new(DAY.get() * count.saturating_sub(1));
        Self {
            first: last.minus(back),
            last,
        }
    }

    #[must_use]
    pub fn count(self) -> u64 {
        self.last.since(self.first).get() / DAY.get() + 1
    }

    fn each(self) -> impl Iterator<Item = Timestamp> {
        let next = move |day: &Timestamp| Some(day.plus(DAY)).filter(|next| *next <= self.last);
        std::iter::successors(Some(self.first), next)
    }
}

/// Counters of a day, or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TenantUsage {
    /// Events with at least one delivery.
    pub published: u64,
    pub delivered: u64,
    pub attempts: u64,
    /// Bytes of the payloads of published events.
    pub bytes: u64,
}

impl TenantUsage {
    const fn add(&mut self, hour: &HourlyStats) {
        self.published += hour.published;
        self.delivered += hour.delivered;
        self.attempts += hour.attempts;
        self.bytes += hour.bytes;
    }

    #[must_use]
    pub fn total(days: &[(Timestamp, Self)]) -> Self {
        days.iter().fold(Self::default(), |sum, (_, day)| Self {
            published: sum.published + day.published,
            delivered: sum.delivered + day.delivered,
            attempts: sum.attempts + day.attempts,
            bytes: sum.bytes + day.bytes,
        })
    }
}

/// The usage of each day, oldest first, including days without any. Counters are read a few days at a time, so that the memory
/// it takes does not grow with the number of webhooks.
///
/// # Errors
/// The store failed.
pub async fn per_day(
    ports: &Ports,
    tenant: &TenantId,
    days: Days,
) -> Result<Vec<(Timestamp, TenantUsage)>, GatewayError> {
    let at_once = match days.count() {
        1 => 1,
        _ => {
            let webhooks = ports.store.webhooks(tenant).await?.webhooks.len() as u64;
            (MAX_COUNTERS / (webhooks.max(1) * 24)).max(1)
        }
    };
    let mut by_day: BTreeMap<Timestamp, TenantUsage> = days
        .each()
        .map(|day| (day, TenantUsage::default()))
        .collect();
    let (mut from, end) = (days.first, days.last.plus(DAY));
    while from < end {
        let to = from.plus(Millis::new(DAY.get() * at_once)).min(end);
        for hour in &ports.store.stats(tenant, None, from, to).await? {
            by_day.entry(hour.hour.day()).or_default().add(hour);
        }
        from = to;
    }
    Ok(by_day.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_include_today() {
        let now = Timestamp::parse_rfc3339("2026-03-01T23:59:59Z").unwrap();
        let days = Days::until(now, 3);
        assert_eq!(days.count(), 3);
        let starts: Vec<_> = days.each().map(|day| day.to_string()).collect();
        assert_eq!(
            starts,
            [
                "2026-02-27T00:00:00.000Z",
                "2026-02-28T00:00:00.000Z",
                "2026-03-01T00:00:00.000Z"
            ]
        );
    }
}
