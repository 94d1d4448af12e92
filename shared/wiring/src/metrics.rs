//! Metrics in CloudWatch's embedded format: a log line from which CloudWatch reads metrics. Per gateway, never per
//! webhook: each combination of dimensions is a metric that costs money.
//! <https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html>

mod counted;

use std::io::{self, Write};

use postrider_domain::key_stats::{Finished, KeyStat};
use postrider_domain::time::Timestamp;
use serde_json::{Map, Value, json};

pub(crate) use counted::Counted;

const NAMESPACE: &str = "Postrider";
const DIMENSION: &str = "gateway";
/// The maximum number of observations of one metric in a line.
const OBSERVATIONS: usize = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Count,
    Seconds,
    Percent,
    /// A ratio.
    None,
}

impl Unit {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Count => "Count",
            Self::Seconds => "Seconds",
            Self::Percent => "Percent",
            Self::None => "None",
        }
    }

    const fn of(key_stat: KeyStat) -> Self {
        match key_stat {
            KeyStat::SuccessRate | KeyStat::RetryRate => Self::Percent,
            KeyStat::P95Latency => Self::Seconds,
            KeyStat::FailedCount => Self::Count,
            KeyStat::AvgRetries => Self::None,
        }
    }
}

/// One metric with its observations.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    name: &'static str,
    unit: Unit,
    observed: Vec<Value>,
}

impl Metric {
    /// A whole number that was observed once.
    #[must_use]
    pub fn of(name: &'static str, unit: Unit, value: u64) -> Self {
        Self {
            name,
            unit,
            observed: vec![value.into()],
        }
    }

    #[must_use]
    pub fn failed_webhooks(count: u64) -> Self {
        let key_stat = KeyStat::FailedCount;
        Self::of(key_stat.name(), Unit::of(key_stat), count)
    }

    fn value(&self) -> Value {
        match self.observed.as_slice() {
            [one] => one.clone(),
            several => several.into(),
        }
    }
}

/// The key stats of finished deliveries, with one observation per delivery: CloudWatch computes averages and
/// percentiles over any period.
#[must_use]
pub fn of_finished(finished: &[Finished]) -> Vec<Metric> {
    let metric = |key_stat: KeyStat| {
        let observed = finished.iter().filter_map(|one| one.observed(key_stat));
        let observed: Vec<_> = observed.map(Value::from).collect();
        (!observed.is_empty()).then(|| Metric {
            name: key_stat.name(),
            unit: Unit::of(key_stat),
            observed,
        })
    };
    KeyStat::ALL.into_iter().filter_map(metric).collect()
}

/// Writes the metrics of one instant to standard output, in as many lines as needed; none without metrics.
pub fn emit(gateway: &str, at: Timestamp, metrics: &[Metric]) -> io::Result<()> {
    for line in lines(gateway, at, metrics) {
        // In a single write, so that no log line gets in between.
        io::stdout()
            .lock()
            .write_all(format!("{line}\n").as_bytes())?;
    }
    Ok(())
}

fn lines(gateway: &str, at: Timestamp, metrics: &[Metric]) -> Vec<Value> {
    let mut left = metrics.to_vec();
    let mut lines = Vec::new();
    while !left.is_empty() {
        let mut rest = Vec::new();
        for metric in &mut left {
            let beyond = metric
                .observed
                .split_off(metric.observed.len().min(OBSERVATIONS));
            if !beyond.is_empty() {
                rest.push(Metric {
                    observed: beyond,
                    ..metric.clone()
                });
            }
        }
        lines.push(line(gateway, at, &left));
        left = rest;
    }
    lines
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
        line.insert(metric.name.to_owned(), metric.value());
    }
    line.into()
}

#[cfg(test)]
mod tests;
