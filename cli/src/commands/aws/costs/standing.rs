//! What is billed by the month, whatever happens: storage, keys, secrets, alarms, dashboards and metrics.

use postrider_aws_bill::{Item, Usage};
use serde_json::Value;

use super::super::json::{at, list};
use super::super::stack::Stack;
use super::super::tool::{AwsCall, AwsTool};
use crate::failure::Failure;

const GB: f64 = 1024.0 * 1024.0 * 1024.0;

pub(super) async fn usage(stack: &Stack, tool: &AwsTool) -> Result<Usage, Failure> {
    let table = |output| {
        Ok::<_, Failure>(
            AwsCall::new("dynamodb", "describe-table")
                .option("--table-name", stack.output(output)?),
        )
    };
    let (deliveries, configs) = (table("DeliveriesTable")?, table("ConfigsTable")?);
    let logs = AwsCall::new("logs", "describe-log-groups").option(
        "--log-group-name-prefix",
        format!("/aws/lambda/{}-", stack.name),
    );
    let metrics = AwsCall::new("cloudwatch", "list-metrics")
        .option("--namespace", "Postrider")
        .option("--dimensions", format!("Name=gateway,Value={}", stack.name));
    let alarms = AwsCall::new("cloudformation", "list-stack-resources")
        .option("--stack-name", &stack.resource("Alarms")?.physical);
    let (deliveries, configs, logs, metrics, alarms) = tokio::join!(
        tool.run(&deliveries),
        tool.run(&configs),
        tool.run(&logs),
        tool.run(&metrics),
        tool.run(&alarms),
    );
    let usage = stored(Usage::default(), &deliveries?);
    let usage = stored(usage, &configs?);
    Ok(usage
        .with(Item::LogsStored, "logs", log_bytes(&logs?) / GB)
        .with(
            Item::Metrics,
            "functions",
            count(&metrics?, "/Metrics", |_| true),
        )
        .with(
            Item::Alarms,
            "stack",
            count(&alarms?, "/StackResourceSummaries", |resource| {
                at(resource, "/ResourceType") == "AWS::CloudWatch::Alarm"
            }),
        )
        .with(Item::Dashboards, "stack", 1.0)
        .with(Item::Keys, "stack", of_kind(stack, "AWS::KMS::Key"))
        .with(
            Item::Secrets,
            "stack",
            of_kind(stack, "AWS::SecretsManager::Secret"),
        ))
}

/// The size that DynamoDB reports is up to six hours old.
fn stored(usage: Usage, described: &Value) -> Usage {
    let table = at(described, "/Table");
    let name = at(table, "/TableName").as_str().unwrap_or_default();
    let items = at(table, "/TableSizeBytes").as_f64().unwrap_or(0.0);
    let indexes: f64 = list(table, "/GlobalSecondaryIndexes")
        .filter_map(|index| at(index, "/IndexSizeBytes").as_f64())
        .sum();
    usage
        .with(Item::TableStorage, name, (items + indexes) / GB)
        .with(Item::PointInTimeRecovery, name, items / GB)
}

fn log_bytes(described: &Value) -> f64 {
    let groups = list(described, "/logGroups");
    groups
        .filter_map(|group| at(group, "/storedBytes").as_f64())
        .sum()
}

fn count(answer: &Value, pointer: &str, wanted: impl Fn(&Value) -> bool) -> f64 {
    list(answer, pointer)
        .filter(|entry| wanted(entry))
        .map(|_| 1.0)
        .sum()
}

fn of_kind(stack: &Stack, kind: &str) -> f64 {
    let resources = stack.resources.iter();
    resources
        .filter(|resource| resource.kind == kind)
        .map(|_| 1.0)
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn indexes_are_stored_but_not_backed_up() {
        let described = json!({"Table": {"TableName": "t", "TableSizeBytes": 2.0 * GB,
            "GlobalSecondaryIndexes": [{"IndexSizeBytes": GB}, {"IndexSizeBytes": GB}]}});
        let usage = stored(Usage::default(), &described);
        assert!((usage.total(Item::TableStorage) - 4.0).abs() < 1e-9);
        assert!((usage.total(Item::PointInTimeRecovery) - 2.0).abs() < 1e-9);
    }

    #[test]
    fn stored_logs_are_added_up() {
        let described = json!({"logGroups": [{"storedBytes": 3}, {"storedBytes": 4}, {}]});
        assert!((log_bytes(&described) - 7.0).abs() < 1e-9);
    }
}
