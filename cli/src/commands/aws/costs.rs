//! `postrider aws costs`: what the stack costs, from the usage that AWS reports.

mod queries;
mod standing;

use clap::Args;
use postrider_aws_bill::{Bill, Item, Prices, Usage};
use postrider_domain::time::{Millis, Timestamp};
use serde_json::{Value, json};

use self::queries::Query;
use super::functions;
use super::stack::Stack;
use super::tool::{AwsCall, AwsTool};
use crate::edge;
use crate::failure::{Ending, Failure};
use crate::output::{Output, plural};
use crate::table::{Mark, Table};

const DAYS_OF_A_MONTH: f64 = 30.0;
const DAY: Millis = Millis::from_seconds(86_400);

const AFTER_HELP: &str = "\
Examples:
  postrider aws costs
  postrider aws costs --days 1 --json

Usage of the last days, as CloudWatch and DynamoDB report it, projected to a month of 30 days, at the
list prices of us-east-1 without free tiers and discounts. Not in it, because AWS reports it nowhere by
stack: transfer to the internet, requests to KMS, S3. The bill itself is in AWS Cost Explorer.";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct CostsArgs {
    /// How many days to look back
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=60))]
    days: u32,
}

pub(super) async fn run(
    args: CostsArgs,
    name: &str,
    tool: &AwsTool,
    out: Output,
) -> Result<Ending, Failure> {
    let stack = Stack::find(name, tool).await?;
    let functions = functions::all(&stack, tool).await?;
    let queries = queries::of(&stack, &functions)?;
    let call = call(&queries, args.days, edge::now());
    let (flowing, standing) = tokio::join!(tool.run(&call), standing::usage(&stack, tool));
    let flowing = queries::usage(&queries, &flowing?);
    let month = flowing.times(DAYS_OF_A_MONTH / f64::from(args.days));
    let month = both(month, &standing?);
    let bill = Bill::of(&month, &Prices::us_east_1());
    show(&bill, args.days, out)?;
    Ok(Ending::Fine)
}

fn call(queries: &[Query], days: u32, now: Timestamp) -> AwsCall {
    let start = (0..days).fold(now, |at, _| at.minus(DAY));
    let queries: Vec<Value> = queries
        .iter()
        .enumerate()
        .map(|(n, query)| query.request(n))
        .collect();
    AwsCall::new("cloudwatch", "get-metric-data")
        .option("--start-time", start.to_string())
        .option("--end-time", now.to_string())
        .option("--metric-data-queries", Value::from(queries).to_string())
}

fn both(one: Usage, other: &Usage) -> Usage {
    let other = other.all().iter();
    other.fold(one, |all, used| {
        all.with(used.item, &used.by, used.quantity)
    })
}

/// The items of a bill, each once, the most expensive first.
fn items(bill: &Bill) -> Vec<(Item, f64, f64)> {
    let mut items: Vec<Item> = bill.lines.iter().map(|line| line.used.item).collect();
    items.sort_unstable();
    items.dedup();
    let quantity = |item: Item| {
        let lines = bill.lines.iter().filter(|line| line.used.item == item);
        lines.map(|line| line.used.quantity).sum::<f64>()
    };
    let mut items: Vec<_> = items
        .into_iter()
        .map(|item| (item, quantity(item), bill.of_item(item)))
        .collect();
    items.sort_by(|one, other| other.2.total_cmp(&one.2));
    items
}

fn show(bill: &Bill, days: u32, out: Output) -> Result<(), Failure> {
    let items = items(bill);
    if out.wants_json() {
        let items = items.iter().map(|(item, quantity, dollars)| {
            json!({"item": item.name(), "quantity": quantity, "dollars": dollars})
        });
        let items: Vec<Value> = items.collect();
        return out.value(&json!({
            "days": days, "month": items, "month_dollars": bill.total(),
        }));
    }
    let mut table = Table::new(["ITEM", "A MONTH", "US DOLLARS"]);
    for (item, quantity, dollars) in items {
        table.row(
            Mark::None,
            [
                item.name().to_owned(),
                format!("{quantity:.2}"),
                format!("{dollars:.2}"),
            ],
        );
    }
    out.line(table.show(out))?;
    out.line(format!(
        "A month at the rate of the last {}: ${:.2}",
        plural(days, "day"),
        bill.total()
    ))?;
    out.note("List prices of us-east-1. Not included: transfer to the internet, requests to KMS, S3, free tiers.");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_added_up_and_the_most_expensive_comes_first() {
        let usage = Usage::default()
            .with(Item::ReadUnits, "a table", 1e6)
            .with(Item::WriteUnits, "a table", 1e6)
            .with(Item::WriteUnits, "an index", 1e6);
        let items = items(&Bill::of(&usage, &Prices::us_east_1()));
        assert_eq!(items.len(), 2);
        assert_eq!((items[0].0, items[0].1), (Item::WriteUnits, 2e6));
        assert!((items[0].2 - 1.25).abs() < 1e-9);
    }

    #[test]
    fn the_period_ends_now_and_is_as_long_as_asked_for() {
        let now = Timestamp::parse_rfc3339("2026-11-17T12:00:00Z").unwrap();
        let line = AwsTool::plain().line(&call(&[], 7, now));
        assert!(
            line.contains("--start-time 2026-11-10T12:00:00.000Z"),
            "{line}"
        );
        assert!(
            line.contains("--end-time 2026-11-17T12:00:00.000Z"),
            "{line}"
        );
    }
}
