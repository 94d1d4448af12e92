//! Tables for the documents.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::assumptions::Assumptions;
use crate::bill::Bill;
use crate::delivery::Counted;
use crate::prices::Prices;

/// One kind of delivery, counted when quiet and when busy.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub name: String,
    pub quiet: Counted,
    pub busy: Counted,
}

impl Row {
    fn dollars(&self, assumed: &Assumptions, prices: &Prices) -> (f64, f64) {
        let total = |counted: &Counted| Bill::of(&counted.million(assumed), prices).total();
        (total(&self.quiet), total(&self.busy))
    }
}

/// The price of a million of each kind.
#[must_use]
pub fn table(rows: &[Row], assumed: &Assumptions, prices: &Prices) -> String {
    let mut table = "| a million deliveries | write units each | with the publisher's, quiet / busy | read units, \
                     quiet / busy | quiet | busy |\n|---|---|---|---|---|---|\n"
        .to_owned();
    for row in rows {
        let (quiet, busy) = row.dollars(assumed, prices);
        let _ = writeln!(
            table,
            "| {} | {} | {} / {} | {} / {} | ${quiet:.2} | ${busy:.2} |",
            row.name,
            short(row.quiet.writes_each()),
            short(row.quiet.all_writes_each()),
            short(row.busy.all_writes_each()),
            short(row.quiet.reads_each()),
            short(row.busy.reads_each()),
        );
    }
    table
}

/// The prices alone.
#[must_use]
pub fn short_table(rows: &[Row], assumed: &Assumptions, prices: &Prices) -> String {
    let mut table = "| a million deliveries | quiet | busy |\n|---|---|---|\n".to_owned();
    for row in rows {
        let (quiet, busy) = row.dollars(assumed, prices);
        let _ = writeln!(table, "| {} | ${quiet:.2} | ${busy:.2} |", row.name);
    }
    table
}

/// The lowest and the highest price of the table, such as `$8.10 to $34.20`.
#[must_use]
pub fn range(rows: &[Row], assumed: &Assumptions, prices: &Prices) -> String {
    let (lowest, highest) = extremes(rows, assumed, prices);
    format!("${lowest:.2} to ${highest:.2}")
}

/// The range in whole dollars.
#[must_use]
pub fn rounded_range(rows: &[Row], assumed: &Assumptions, prices: &Prices) -> String {
    let (lowest, highest) = extremes(rows, assumed, prices);
    format!("${lowest:.0} to ${highest:.0}")
}

fn extremes(rows: &[Row], assumed: &Assumptions, prices: &Prices) -> (f64, f64) {
    let dollars = rows.iter().flat_map(|row| {
        let (quiet, busy) = row.dollars(assumed, prices);
        [quiet, busy]
    });
    dollars.fold((f64::INFINITY, 0.0_f64), |(low, high), dollars| {
        (low.min(dollars), high.max(dollars))
    })
}

/// Where the money goes, for one kind of delivery.
#[must_use]
pub fn breakdown(row: &Row, assumed: &Assumptions, prices: &Prices) -> String {
    let (quiet, busy) = (
        by_line(&row.quiet, assumed, prices),
        by_line(&row.busy, assumed, prices),
    );
    let mut table = format!("| {} | quiet | busy |\n|---|---|---|\n", row.name);
    let mut all = (0.0, 0.0);
    for (line, quiet) in &quiet {
        let busy = busy.get(line).copied().unwrap_or_default();
        all = (all.0 + quiet, all.1 + busy);
        let _ = writeln!(
            table,
            "| {}: {} | ${quiet:.3} | ${busy:.3} |",
            line.0.name(),
            line.1
        );
    }
    let _ = writeln!(table, "| **all** | **${:.2}** | **${:.2}** |", all.0, all.1);
    table
}

fn by_line(
    counted: &Counted,
    assumed: &Assumptions,
    prices: &Prices,
) -> BTreeMap<(crate::Item, String), f64> {
    let bill = Bill::of(&counted.million(assumed), prices);
    let lines = bill.lines.into_iter();
    lines
        .map(|line| ((line.used.item, line.used.by), line.dollars))
        .collect()
}

/// A bill, line by line.
#[must_use]
pub fn lines(title: &str, bill: &Bill) -> String {
    let mut table = format!("| {title} | quantity | |\n|---|---|---|\n");
    for line in &bill.lines {
        let name = format!("{}: {}", line.used.item.name(), line.used.by);
        let quantity = short(line.used.quantity);
        let _ = writeln!(table, "| {name} | {quantity} | ${:.2} |", line.dollars);
    }
    let _ = writeln!(table, "| **all** | | **${:.2}** |", bill.total());
    table
}

/// As few digits as it takes, with commas for thousands.
fn short(number: f64) -> String {
    let text = if number.abs() < 10.0 {
        format!("{number:.2}")
    } else if number.abs() < 1000.0 {
        format!("{number:.1}")
    } else {
        format!("{number:.0}")
    };
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    match fraction.trim_end_matches('0') {
        "" => grouped,
        fraction => format!("{grouped}.{fraction}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let cases = [
            (10.0, "10"),
            (5.25, "5.25"),
            (0.1, "0.1"),
            (18.44, "18.4"),
            (43_200.0, "43,200"),
            (1_296_000.4, "1,296,000"),
            (0.0, "0"),
        ];
        for (number, text) in cases {
            assert_eq!(short(number), text);
        }
    }

    #[test]
    fn the_range_goes_from_the_cheapest_to_the_dearest() {
        let counted = |events| Counted {
            deliveries: 1.0,
            events,
            ..Counted::default()
        };
        let row = |name: &str, quiet, busy| Row {
            name: name.to_owned(),
            quiet: counted(quiet),
            busy: counted(busy),
        };
        let rows = [row("large", 9.0, 4.0), row("small", 2.0, 1.0)];
        let prices = Prices::us_east_1();
        let (assumed, price) = (Assumptions::default(), |events| {
            Bill::of(&counted(events).million(&Assumptions::default()), &prices).total()
        });
        let expected = format!("${:.2} to ${:.2}", price(1.0), price(9.0));
        assert_eq!(range(&rows, &assumed, &prices), expected);
    }
}
