//! AWS list prices, without free tiers and volume discounts.

use std::collections::BTreeMap;

use crate::usage::Item;

const MILLION: f64 = 1e6;

/// US dollars per unit of each item.
#[derive(Clone, Debug, PartialEq)]
pub struct Prices {
    pub region: String,
    per_unit: BTreeMap<Item, f64>,
}

impl Prices {
    /// The prices of us-east-1 as published in November 2026. Check those of your region before you rely on a total.
    #[must_use]
    pub fn us_east_1() -> Self {
        let prices = [
            (Item::WriteUnits, 0.625 / MILLION),
            (Item::ReadUnits, 0.125 / MILLION),
            (Item::TableStorage, 0.25),
            (Item::PointInTimeRecovery, 0.20),
            (Item::HttpRequests, 1.00 / MILLION),
            (Item::Invocations, 0.20 / MILLION),
            (Item::Compute, 0.000_013_333_4),
            (Item::QueueRequests, 0.40 / MILLION),
            (Item::FairQueueRequests, 0.50 / MILLION),
            (Item::TopicRequests, 0.50 / MILLION),
            (Item::LogsWritten, 0.50),
            (Item::LogsStored, 0.03),
            (Item::Transfer, 0.09),
            (Item::KeyRequests, 3.00 / MILLION),
            (Item::ScheduledInvocations, 1.00 / MILLION),
            (Item::Keys, 1.00),
            (Item::Secrets, 0.40),
            (Item::Alarms, 0.10),
            (Item::Dashboards, 3.00),
            (Item::Metrics, 0.30),
        ];
        Self {
            region: "us-east-1".to_owned(),
            per_unit: prices.into_iter().collect(),
        }
    }

    /// The same prices in another region, apart from those that are changed with [`Self::with`].
    #[must_use]
    pub fn of_region(mut self, region: &str) -> Self {
        region.clone_into(&mut self.region);
        self
    }

    #[must_use]
    pub fn with(mut self, item: Item, dollars: f64) -> Self {
        self.per_unit.insert(item, dollars);
        self
    }

    /// The price of one unit; 0 if the list does not name it.
    #[must_use]
    pub fn of(&self, item: Item) -> f64 {
        self.per_unit.get(&item).copied().unwrap_or_default()
    }
}
