//! Key stats over time, as bar charts with the alert threshold.

use std::fmt::Write;

use postrider_domain::key_stats::{Comparison, KeyStat, StatTotals};
use postrider_domain::time::Timestamp;

use super::text::{self, Markup};

/// With more hours than this, several hours share a bar.
const MAX_BARS: usize = 64;
const WIDTH: f64 = 320.0;
const HEIGHT: f64 = 56.0;
/// The minimum height of a bar.
const LEAST: f64 = 1.5;

/// The start of a bar's hours, and their totals.
pub(super) type Bar = (Timestamp, StatTotals);

/// Merges hours until a chart has room for them.
pub(super) fn bars(hours: &[(Timestamp, StatTotals)]) -> Vec<Bar> {
    let each = hours.len().div_ceil(MAX_BARS).max(1);
    let together = |hours: &[(Timestamp, StatTotals)]| {
        let mut sum = StatTotals::default();
        for (_, tally) in hours {
            sum.add(tally);
        }
        hours.first().map(|(start, _)| (*start, sum))
    };
    hours.chunks(each).filter_map(together).collect()
}

/// A value with its unit.
pub(super) fn value(key_stat: KeyStat, value: f64) -> String {
    match key_stat {
        KeyStat::SuccessRate | KeyStat::RetryRate => format!("{} %", trimmed(value, 1)),
        KeyStat::P95Latency if value < 1.0 => format!("{:.0} ms", value * 1000.0),
        KeyStat::P95Latency => format!("{} s", trimmed(value, 1)),
        KeyStat::FailedCount => format!("{value:.0}"),
        KeyStat::AvgRetries => trimmed(value, 2),
    }
}

fn trimmed(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// The chart of a key stat. Bars beyond the threshold are highlighted; hours without data get a thin grey line.
pub(super) fn chart(key_stat: KeyStat, bars: &[Bar]) -> Markup {
    let values: Vec<_> = bars
        .iter()
        .map(|(start, tally)| (*start, key_stat.value(tally, 0)))
        .collect();
    let (comparison, threshold) = key_stat.threshold();
    let top = match comparison {
        Comparison::Below => 100.0,
        Comparison::Above => values
            .iter()
            .filter_map(|(_, value)| *value)
            .fold(threshold * 1.25, f64::max),
    };
    let y = |value: f64| HEIGHT - (value / top).clamp(0.0, 1.0) * HEIGHT;
    let step = WIDTH / count(values.len().max(1));
    let gap = if values.len() > 32 { 1.0 } else { 2.0 };
    let mut svg = format!(
        "<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" aria-hidden=\"true\">"
    );
    for (n, (start, known)) in values.iter().enumerate() {
        let (x, width) = (count(n) * step, (step - gap).max(1.0));
        let Some(known) = *known else {
            let lower = HEIGHT - LEAST;
            let _ = write!(
                svg,
                "<rect class=\"quiet\" x=\"{x:.1}\" y=\"{lower}\" width=\"{width:.1}\" height=\"{LEAST}\"/>"
            );
            continue;
        };
        let class = if key_stat.alerts_at(known) {
            "bad"
        } else {
            "good"
        };
        let upper = y(known).min(HEIGHT - LEAST);
        let _ = write!(
            svg,
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{upper:.1}\" width=\"{width:.1}\" height=\"{:.1}\" rx=\"1\"><title>{}: {}</title></rect>",
            HEIGHT - upper,
            text::utc(*start),
            value(key_stat, known),
        );
    }
    let line = y(threshold);
    let _ = write!(
        svg,
        "<line class=\"limit\" x1=\"0\" x2=\"{WIDTH}\" y1=\"{line:.1}\" y2=\"{line:.1}\"/></svg>"
    );
    Markup(svg)
}

#[expect(clippy::cast_precision_loss, reason = "at most a few hundred bars")]
const fn count(n: usize) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use postrider_domain::time::Millis;

    fn hours(n: u64) -> Vec<(Timestamp, StatTotals)> {
        let hour = |n| {
            let start = Timestamp::ZERO.plus(Millis::from_seconds(n * 3600));
            let tally = StatTotals {
                delivered: 9,
                dead: u64::from(n == 1),
                ..StatTotals::default()
            };
            (start, tally)
        };
        (0..n).map(hour).collect()
    }

    #[test]
    fn a_month_is_merged_into_at_most_64_bars() {
        assert_eq!(bars(&hours(25)).len(), 25);
        let month = bars(&hours(745));
        assert!(month.len() <= MAX_BARS);
        assert_eq!(
            month.iter().map(|(_, tally)| tally.delivered).sum::<u64>(),
            745 * 9
        );
        assert!(bars(&[]).is_empty());
    }

    #[test]
    fn a_bar_beyond_the_threshold_is_highlighted() {
        let Markup(svg) = chart(KeyStat::SuccessRate, &hours(3));
        assert_eq!(svg.matches("class=\"good\"").count(), 2);
        assert_eq!(svg.matches("class=\"bad\"").count(), 1);
        let Markup(quiet) = chart(KeyStat::P95Latency, &hours(3));
        assert_eq!(
            quiet.matches("class=\"quiet\"").count(),
            3,
            "no latencies were recorded"
        );
        assert!(!quiet.contains("NaN"));
    }

    #[test]
    fn values_have_their_units() {
        assert_eq!(value(KeyStat::SuccessRate, 99.95), "100 %");
        assert_eq!(value(KeyStat::SuccessRate, 98.0), "98 %");
        assert_eq!(value(KeyStat::P95Latency, 0.0425), "42 ms");
        assert_eq!(value(KeyStat::P95Latency, 12.34), "12.3 s");
        assert_eq!(value(KeyStat::AvgRetries, 0.5), "0.5");
        assert_eq!(value(KeyStat::FailedCount, 10.0), "10");
    }
}
