//! Metrics in CloudWatch's embedded format: a log line that CloudWatch reads figures from. By gateway, never by webhook:
//! each combination of dimensions is a metric that is paid for.
//! <https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html>

use std::io::{self, Write};

use postrider_domain::time::Timestamp;
use serde_json::{Map, Value, json};

const NAMESPACE: &str = "Postrider";
const DIMENSION: &str = "gateway";

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Things.
    Count,
    /// Time.
    Seconds,
}

impl Unit {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Count => "Count",
            Self::Seconds => "Seconds",
        }
    }
}

/// One figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// What it counts.
    pub unit: Unit,
    /// How many.
    pub value: u64,
}

/// Writes the figures of one instant to standard output.
///
/// # Errors
/// When nobody takes them.
pub fn emit(gateway: &str, at: Timestamp, metrics: &[Metric]) -> io::Result<()> {
    let line = format!("{}\n", line(gateway, at, metrics));
    // In one write, so that no log line gets in between.
    io::stdout().lock().write_all(line.as_bytes())
}

fn line(gateway: &str, at: Timestamp, metrics: &[Metric]) -> Value {
    let named = |metric: &Metric| json!({"Name": metric.name, "Unit": metric.unit.as_str()});
    let directive = json!({
        "Timestamp": at.as_millis(),
        "CloudWatchMetrics": [{
            "Namespace": NAMESPACE,
            "Dimensions": [[DIMENSION]],
            "Metrics": metrics.iter().map(named).collect::<Vec<_>>(),
        }],
    });
    let mut line = Map::new();
    line.insert("_aws".to_owned(), directive);
    line.insert(DIMENSION.to_owned(), gateway.into());
    for metric in metrics {
        line.insert(metric.name.to_owned(), metric.value.into());
    }
    line.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_is_declared_and_given_under_the_gateway_alone() {
        let late = Metric {
            name: "oldest_due_age_seconds",
            unit: Unit::Seconds,
            value: 7,
        };
        let line = line("prod", Timestamp::from_millis(5), &[late]);
        let expected = json!({
            "_aws": {"Timestamp": 5, "CloudWatchMetrics": [{
                "Namespace": "Postrider",
                "Dimensions": [["gateway"]],
                "Metrics": [{"Name": "oldest_due_age_seconds", "Unit": "Seconds"}],
            }]},
            "gateway": "prod",
            "oldest_due_age_seconds": 7,
        });
        assert_eq!(line, expected);
    }
}
