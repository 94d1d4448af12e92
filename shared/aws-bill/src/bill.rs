//! The price of a usage.

use crate::prices::Prices;
use crate::usage::{Item, Usage, Used};

/// A line of a bill.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    pub used: Used,
    pub dollars: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Bill {
    pub lines: Vec<Line>,
}

impl Bill {
    #[must_use]
    pub fn of(usage: &Usage, prices: &Prices) -> Self {
        let line = |used: &Used| Line {
            dollars: used.quantity * prices.of(used.item),
            used: used.clone(),
        };
        Self {
            lines: usage.all().iter().map(line).collect(),
        }
    }

    #[must_use]
    pub fn total(&self) -> f64 {
        self.lines.iter().map(|line| line.dollars).sum()
    }

    /// What the lines of an item cost together.
    #[must_use]
    pub fn of_item(&self, item: Item) -> f64 {
        let lines = self.lines.iter().filter(|line| line.used.item == item);
        lines.map(|line| line.dollars).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bill_is_quantity_times_price_line_by_line() {
        let usage = Usage::default()
            .with(Item::WriteUnits, "accept", 6e6)
            .with(Item::WriteUnits, "attempts", 2e6)
            .with(Item::Transfer, "requests", 0.0)
            .with(Item::Keys, "stack", 1.0);
        let bill = Bill::of(&usage, &Prices::us_east_1());
        assert_eq!(bill.lines.len(), 3, "nothing is listed for nothing");
        assert!((bill.of_item(Item::WriteUnits) - 5.0).abs() < 1e-9);
        assert!((bill.total() - 6.0).abs() < 1e-9);
    }

    #[test]
    fn another_region_changes_only_the_prices_that_it_names() {
        let prices = Prices::us_east_1().of_region("eu-central-1");
        let prices = prices.with(Item::WriteUnits, 1e-6);
        let usage = Usage::default().with(Item::WriteUnits, "accept", 1e6).with(
            Item::ReadUnits,
            "accept",
            1e6,
        );
        let total = Bill::of(&usage, &prices).total();
        assert!((total - 1.125).abs() < 1e-9, "{total}");
    }
}
