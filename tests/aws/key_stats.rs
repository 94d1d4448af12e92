//! The five key stats in CloudWatch: metrics, alarms and the dashboard.

use std::collections::BTreeMap;
use std::time::Duration;

use postrider_domain::key_stats::{Comparison, KeyStat};
use serde_json::{Value, json};

use super::stack::Stack;
use super::template::{of_type, template};
use crate::command::PATIENCE;

#[tokio::test]
async fn every_key_stat_has_an_alarm_at_its_threshold_and_a_dashboard_widget() {
    let alarms = template("infra/alarms.yaml").await;
    let alarms = of_type(&alarms, "AWS::CloudWatch::Alarm");
    let dashboard = template("infra/dashboard.yaml").await;
    let widgets = &of_type(&dashboard, "AWS::CloudWatch::Dashboard")[0].1["DashboardBody"];
    let widgets: Value = serde_json::from_str(widgets["Fn::Sub"].as_str().unwrap()).unwrap();
    for key_stat in KeyStat::ALL {
        let name = key_stat.name();
        let alarm = alarms.iter().find(|(_, alarm)| alarm["MetricName"] == name);
        let (_, alarm) = alarm.unwrap_or_else(|| panic!("no alarm on {name}"));
        let (comparison, threshold) = key_stat.threshold();
        let operator = match comparison {
            Comparison::Below => "LessThanThreshold",
            Comparison::Above => "GreaterThanThreshold",
        };
        assert_eq!(alarm["ComparisonOperator"], operator, "{name}");
        assert_eq!(alarm["Threshold"].as_f64(), Some(threshold), "{name}");
        assert_eq!(alarm["Namespace"], "Postrider", "{name}");
        assert_eq!(alarm["TreatMissingData"], "notBreaching", "{name}");
        let dimensions = alarm["Dimensions"].as_array().unwrap();
        assert_eq!(dimensions.len(), 1, "{name}");
        assert_eq!(dimensions[0]["Name"], "gateway", "{name}");
        let widgets = widgets["widgets"].as_array().unwrap();
        let widget = widgets
            .iter()
            .find(|it| it["properties"]["metrics"][0][1] == name);
        let widget = &widget.unwrap_or_else(|| panic!("no widget of {name}"))["properties"];
        let statistic = alarm.get("Statistic").or(alarm.get("ExtendedStatistic"));
        assert_eq!(Some(&widget["stat"]), statistic, "{name}");
        let line = &widget["annotations"]["horizontal"][0]["value"];
        assert_eq!(line.as_f64(), Some(threshold), "{name}");
    }
}

/// The values that a function has written in the embedded metric format, by metric.
pub(super) async fn written(stack: &Stack, function: &str) -> BTreeMap<String, Vec<f64>> {
    let group = format!("/aws/lambda/postrider-dev-{function}");
    let ask = json!({"logGroupName": group, "filterPattern": "CloudWatchMetrics"});
    let found = stack.aws.call("logs", "filter_log_events", ask).await;
    let mut metrics: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for event in found["events"].as_array().unwrap() {
        let line: Value = serde_json::from_str(event["message"].as_str().unwrap()).unwrap();
        assert_eq!(line["gateway"], "postrider-dev", "{line}");
        let directive = &line["_aws"]["CloudWatchMetrics"][0];
        assert_eq!(directive["Dimensions"], json!([["gateway"]]), "{line}");
        for metric in directive["Metrics"].as_array().unwrap() {
            let name = metric["Name"].as_str().unwrap();
            let value = &line[name];
            let values = value
                .as_array()
                .map_or(vec![value], |all| all.iter().collect());
            let values = values.into_iter().map(|value| value.as_f64().unwrap());
            metrics.entry(name.to_owned()).or_default().extend(values);
        }
    }
    metrics
}

/// For deliveries that succeed at once, after retries, and never.
pub(super) async fn the_five_key_stats_are_written_under_their_names(stack: &Stack) {
    let every_fifth_minute = json!({"time": "2026-11-16T08:05:00Z"});
    stack.invoke("poller", &every_fifth_minute).await;
    let mut looks = tokio::time::interval(Duration::from_millis(200));
    let wait = async {
        loop {
            looks.tick().await;
            let mut metrics = written(stack, "publisher").await;
            metrics.append(&mut written(stack, "poller").await);
            if KeyStat::ALL
                .iter()
                .all(|key_stat| metrics.contains_key(key_stat.name()))
            {
                return metrics;
            }
        }
    };
    let metrics = tokio::time::timeout(PATIENCE, wait)
        .await
        .expect("the key stats are written");
    let of = |key_stat: KeyStat| &metrics[key_stat.name()];
    let successes = of(KeyStat::SuccessRate);
    assert!(
        successes.contains(&100.0) && successes.contains(&0.0),
        "{successes:?}"
    );
    let arrived = successes.iter().filter(|one| **one > 0.0).count();
    assert_eq!(of(KeyStat::P95Latency).len(), arrived);
    assert_eq!(of(KeyStat::RetryRate).len(), successes.len());
    assert!(
        of(KeyStat::AvgRetries).contains(&2.0),
        "three attempts are two retries"
    );
    assert!(of(KeyStat::FailedCount).iter().any(|count| *count >= 1.0));
}
