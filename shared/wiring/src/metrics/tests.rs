use super::*;

#[test]
fn every_metric_is_declared_and_reported_per_gateway_only() {
    let late = Metric::of("oldest_due_age_seconds", Unit::Seconds, 7);
    let line = lines("prod", Timestamp::from_millis(5), &[late]);
    let expected = json!({
        "_aws": {"Timestamp": 5, "CloudWatchMetrics": [{
            "Namespace": "Postrider",
            "Dimensions": [["gateway"]],
            "Metrics": [{"Name": "oldest_due_age_seconds", "Unit": "Seconds"}],
        }]},
        "gateway": "prod",
        "oldest_due_age_seconds": 7,
    });
    assert_eq!(line, [expected]);
}

#[test]
fn a_line_holds_at_most_a_hundred_observations() {
    let metric = |name, count: u64| Metric {
        name,
        unit: Unit::None,
        observed: (0..count).map(Value::from).collect(),
    };
    let metrics = [metric("many", 201), metric("few", 3)];
    let lines = lines("prod", Timestamp::ZERO, &metrics);
    let lengths = |name: &str| {
        let values = lines.iter().map(|line| line[name].as_array().map(Vec::len));
        values.collect::<Vec<_>>()
    };
    assert_eq!(lengths("many"), [Some(100), Some(100), None]);
    assert_eq!(lines[2]["many"], 200, "a single value is not a list");
    assert_eq!(lengths("few"), [Some(3), None, None]);
    assert!(lines[1].get("few").is_none());
}

#[test]
fn without_deliveries_there_are_no_metrics_and_no_lines() {
    assert_eq!(of_finished(&[]), []);
    assert_eq!(lines("prod", Timestamp::ZERO, &[]), Vec::<Value>::new());
}
