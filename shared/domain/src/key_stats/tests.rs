use proptest::prelude::*;

use super::*;
use crate::stats::latency_bucket;
use crate::time::Millis;

fn of_latencies(latencies_ms: &[u64]) -> StatTotals {
    let mut totals = StatTotals::default();
    for ms in latencies_ms {
        totals.delivered += 1;
        totals.latency[usize::from(latency_bucket(Millis::new(*ms)))] += 1;
    }
    totals
}

fn p95(latencies_ms: &[u64]) -> Option<f64> {
    KeyStat::P95Latency.value(&of_latencies(latencies_ms), 0)
}

#[test]
fn names_are_those_of_alarms_and_the_api() {
    let names = [
        "webhook_delivery_success_rate",
        "webhook_delivery_p95_latency",
        "webhook_retry_rate",
        "webhook_failed_count",
        "webhook_avg_retries_per_delivery",
    ];
    assert_eq!(KeyStat::ALL.map(KeyStat::name), names);
    assert_eq!(Comparison::ALL.map(Comparison::as_str), ["below", "above"]);
}

#[test]
fn without_data_only_the_failed_count_has_a_value() {
    let nothing = StatTotals::default();
    for key_stat in KeyStat::ALL {
        let expected = (key_stat == KeyStat::FailedCount).then_some(0.0);
        assert_eq!(key_stat.value(&nothing, 0), expected, "{key_stat:?}");
    }
}

#[test]
fn rates_are_relative_to_finished_deliveries() {
    let totals = StatTotals {
        delivered: 19,
        dead: 1,
        attempts: 50,
        retried: 5,
        retries: 30,
        ..StatTotals::default()
    };
    assert_eq!(KeyStat::SuccessRate.value(&totals, 0), Some(95.0));
    assert_eq!(KeyStat::RetryRate.value(&totals, 0), Some(25.0));
    assert_eq!(KeyStat::AvgRetries.value(&totals, 0), Some(1.5));
    assert_eq!(KeyStat::FailedCount.value(&totals, 3), Some(3.0));
    assert_eq!(
        KeyStat::P95Latency.value(&totals, 0),
        None,
        "no latency was counted"
    );
}

#[test]
fn a_description_begins_with_the_unit_of_its_values() {
    for (key_stat, unit) in KeyStat::ALL.into_iter().zip([
        "Percentage of ",
        "Seconds from ",
        "Percentage of ",
        "Webhooks whose ",
        "Attempts beyond ",
    ]) {
        let text = key_stat.description();
        assert!(text.starts_with(unit), "{key_stat:?}: {text}");
    }
}

#[test]
fn a_value_at_its_threshold_does_not_alert() {
    for key_stat in KeyStat::ALL {
        let (comparison, threshold) = key_stat.threshold();
        assert!(!key_stat.alerts_at(threshold), "{key_stat:?}");
        let beyond = match comparison {
            Comparison::Below => threshold - 0.001,
            Comparison::Above => threshold + 0.001,
        };
        assert!(key_stat.alerts_at(beyond), "{key_stat:?}");
    }
}

#[test]
fn the_95th_percentile_lies_within_its_bucket() {
    assert_eq!(
        p95(&[4]),
        Some(0.0095),
        "95 % of the way through 0 to 10 ms"
    );
    let mut latencies = vec![5; 95];
    latencies.extend([20_000; 5]);
    assert_eq!(p95(&latencies), Some(0.01), "just reached by the first 95");
    latencies.push(20_000);
    assert!(p95(&latencies).is_some_and(|seconds| (15.0..30.0).contains(&seconds)));
    let a_week = 7 * 86_400_000;
    assert_eq!(
        p95(&[a_week]),
        Some(259_200.0),
        "beyond the last bound, that bound is returned"
    );
}

#[test]
fn each_counter_of_a_period_is_a_sum() {
    let of = |n| StatTotals {
        delivered: n,
        dead: 10 * n,
        attempts: 100 * n,
        retried: 1_000 * n,
        retries: 10_000 * n,
        latency: [n; BUCKETS],
    };
    let mut sum = of(3);
    sum.add(&of(2));
    assert_eq!(sum, of(5));
}

proptest! {
    #[test]
    fn the_latency_alerts_exactly_when_fewer_than_95_percent_took_at_most_10_seconds(
        latencies in prop::collection::vec(prop_oneof![0..20_000_u64, 9_990..10_010_u64, any::<u64>()], 1..200)
    ) {
        let within = latencies.iter().filter(|ms| **ms <= 10_000).count();
        let value = p95(&latencies).unwrap();
        prop_assert_eq!(KeyStat::P95Latency.alerts_at(value), within * 20 < latencies.len() * 19);
    }

    #[test]
    fn the_latency_is_in_the_bucket_of_the_true_percentile(
        mut latencies in prop::collection::vec(0..300_000_000_u64, 1..200)
    ) {
        let value_ms = p95(&latencies).unwrap() * 1000.0;
        latencies.sort_unstable();
        let rank = (latencies.len() * 19).div_ceil(20);
        let bucket = usize::from(latency_bucket(Millis::new(latencies[rank - 1])));
        let lower = bucket.checked_sub(1).map_or(0, |below| LATENCY_BOUNDS_MS[below]);
        let upper = LATENCY_BOUNDS_MS.get(bucket).copied().unwrap_or(lower);
        let slack = 0.001;
        prop_assert!(as_f64(lower) - slack <= value_ms && value_ms <= as_f64(upper) + slack);
    }

    #[test]
    fn parts_add_up_to_the_whole(a in prop::collection::vec(any::<u32>(), 0..50), b in prop::collection::vec(any::<u32>(), 0..50)) {
        let wide = |part: &[u32]| part.iter().map(|ms| u64::from(*ms)).collect::<Vec<_>>();
        let mut sum = of_latencies(&wide(&a));
        sum.add(&of_latencies(&wide(&b)));
        prop_assert_eq!(sum, of_latencies(&wide(&[a, b].concat())));
    }
}
