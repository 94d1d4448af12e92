//! The results, each with its target.

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::earlier::Earlier;

/// All results of a run.
#[derive(Default)]
pub(crate) struct Report {
    measurements: Vec<Measurement>,
    spread: Vec<(String, usize)>,
    faults: Vec<String>,
}

struct Measurement {
    of: &'static str,
    name: Cow<'static, str>,
    value: f64,
    unit: &'static str,
    bar: Option<Bar>,
}

/// The target of a result.
#[derive(Clone, Copy)]
pub(crate) enum Bar {
    /// At least this.
    AtLeast(f64),
    /// At most this.
    AtMost(f64),
}

impl Bar {
    fn is_met(self, value: f64) -> bool {
        match self {
            Self::AtLeast(bar) => value >= bar,
            Self::AtMost(bar) => value <= bar,
        }
    }

    fn text(self) -> String {
        match self {
            Self::AtLeast(bar) => format!(">= {}", number(bar)),
            Self::AtMost(bar) => format!("<= {}", number(bar)),
        }
    }

    fn verdict(self, value: f64) -> &'static str {
        if self.is_met(value) { "met" } else { "missed" }
    }
}

impl Report {
    /// The part with this heading.
    pub(crate) fn of(&mut self, of: &'static str) -> Part<'_> {
        Part { of, report: self }
    }

    /// How many rows are due in each part of the time.
    pub(crate) fn spread(&mut self, parts: Vec<(String, usize)>) {
        self.spread = parts;
    }

    /// Whether nothing was lost.
    pub(crate) fn is_sound(&self) -> bool {
        self.faults.is_empty()
    }

    /// Prints everything as a table, with what changed since earlier runs.
    pub(crate) fn print(&self, earlier: &Earlier) {
        let mut of = "";
        for measurement in &self.measurements {
            if measurement.of != of {
                of = measurement.of;
                println!("\n{of}");
            }
            let value = format!("{} {}", number(measurement.value), measurement.unit);
            let (bar, verdict) = measurement.bar.map_or((String::new(), ""), |bar| {
                (bar.text(), bar.verdict(measurement.value))
            });
            let change = earlier
                .change(measurement.of, &measurement.name, measurement.value)
                .map_or(String::new(), |change| format!("{:+.0} %", change * 100.0));
            let line = format!(
                "  {:<58} {value:>18}  {bar:<10} {verdict:<7} {change}",
                measurement.name
            );
            println!("{}", line.trim_end());
        }
        if !self.spread.is_empty() {
            println!("\n1,000 rows that failed in the same second, jitter 2,000 bps: due after");
        }
        for (part, rows) in &self.spread {
            println!("  {part:<12} {rows:>4}  {}", "#".repeat(rows / 2));
        }
        for fault in &self.faults {
            println!("\nLOST: {fault}");
        }
    }

    /// The same as a JSON document.
    pub(crate) fn to_json(&self, earlier: &Earlier) -> String {
        let as_json = |measurement| as_json(measurement, earlier);
        let mut measurements: Vec<Value> = self.measurements.iter().map(as_json).collect();
        let is_measured = |of: &str| self.measurements.iter().any(|one| one.of == of);
        measurements.extend(earlier.others(is_measured).cloned());
        let spread: Vec<Value> = self
            .spread
            .iter()
            .map(|(part, rows)| json!({"due_after": part, "rows": rows}))
            .collect();
        let document =
            json!({"figures": measurements, "jitter_spread": spread, "faults": self.faults});
        format!("{document:#}\n")
    }
}

/// A part of the report.
pub(crate) struct Part<'a> {
    of: &'static str,
    report: &'a mut Report,
}

impl Part<'_> {
    /// A result without a target.
    pub(crate) fn measurement(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        value: f64,
        unit: &'static str,
    ) {
        self.keep(name.into(), value, unit, None);
    }

    /// A result with a target.
    pub(crate) fn against(
        &mut self,
        bar: Bar,
        name: impl Into<Cow<'static, str>>,
        value: f64,
        unit: &'static str,
    ) {
        self.keep(name.into(), value, unit, Some(bar));
    }

    /// Checks that every acknowledged message has arrived.
    pub(crate) fn expect_all(&mut self, acknowledged: u64, arrived: u64) {
        if arrived != acknowledged {
            let of = self.of;
            let fault = format!("{of}: {acknowledged} were acknowledged, {arrived} arrived");
            self.report.faults.push(fault);
        }
    }

    fn keep(&mut self, name: Cow<'static, str>, value: f64, unit: &'static str, bar: Option<Bar>) {
        self.report.measurements.push(Measurement {
            of: self.of,
            name,
            value,
            unit,
            bar,
        });
    }
}

fn as_json(measurement: &Measurement, earlier: &Earlier) -> Value {
    let bar = measurement.bar.map(|bar| match bar {
        Bar::AtLeast(least) => {
            json!({"at_least": least, "verdict": bar.verdict(measurement.value)})
        }
        Bar::AtMost(most) => json!({"at_most": most, "verdict": bar.verdict(measurement.value)}),
    });
    json!({"of": measurement.of, "name": measurement.name, "value": measurement.value, "unit": measurement.unit, "bar": bar, "earlier": earlier.of(measurement.of, &measurement.name)})
}

/// Three significant digits.
fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}
