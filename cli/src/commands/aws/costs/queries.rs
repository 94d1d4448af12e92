//! What CloudWatch counts of the stack.

use postrider_aws_bill::{Item, Usage};
use serde_json::{Value, json};

use super::super::functions::Deployed;
use super::super::json::{at, list};
use super::super::stack::Stack;
use crate::failure::Failure;

const DAY_SECONDS: u32 = 86_400;
const GB: f64 = 1024.0 * 1024.0 * 1024.0;
const INDEXES: [&str; 5] = [
    "status-next_retry_at",
    "recent",
    "by_webhook",
    "by_session",
    "trouble",
];
/// Each message is a request at most; in a batch several share one.
const QUEUE_METRICS: [&str; 4] = [
    "NumberOfMessagesSent",
    "NumberOfMessagesReceived",
    "NumberOfMessagesDeleted",
    "NumberOfEmptyReceives",
];

/// The sum of a metric, and what it is billed as.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Query {
    item: Item,
    by: String,
    /// How much of the item one of the metric is.
    factor: f64,
    namespace: &'static str,
    metric: &'static str,
    dimensions: Vec<(&'static str, String)>,
}

impl Query {
    pub(super) fn request(&self, n: usize) -> Value {
        let dimensions: Vec<Value> = self
            .dimensions
            .iter()
            .map(|(name, value)| json!({"Name": name, "Value": value}))
            .collect();
        let metric = json!({"Namespace": self.namespace, "MetricName": self.metric, "Dimensions": dimensions});
        json!({"Id": id(n), "MetricStat": {"Metric": metric, "Period": DAY_SECONDS, "Stat": "Sum"}})
    }
}

fn id(n: usize) -> String {
    format!("q{n}")
}

pub(super) fn of(stack: &Stack, functions: &[Deployed]) -> Result<Vec<Query>, Failure> {
    let mut queries = Vec::new();
    for table in [
        stack.output("DeliveriesTable")?,
        stack.output("ConfigsTable")?,
    ] {
        queries.extend(units(table, None));
    }
    let deliveries = stack.output("DeliveriesTable")?;
    queries.extend(
        INDEXES
            .iter()
            .flat_map(|index| units(deliveries, Some(index))),
    );
    queries.extend(functions.iter().flat_map(of_function));
    for queue in stack.queues() {
        // Only messages for attempts have a group.
        let item = match queue.logical.as_str() {
            "HintQueue" => Item::FairQueueRequests,
            _ => Item::QueueRequests,
        };
        let name = queue.physical.rsplit('/').next().unwrap_or_default();
        queries.extend(QUEUE_METRICS.map(|metric| Query {
            item,
            by: queue.logical.clone(),
            factor: 1.0,
            namespace: "AWS/SQS",
            metric,
            dimensions: vec![("QueueName", name.to_owned())],
        }));
    }
    let api = stack.resource("HttpApi")?;
    queries.push(Query {
        item: Item::HttpRequests,
        by: "api".to_owned(),
        factor: 1.0,
        namespace: "AWS/ApiGateway",
        metric: "Count",
        dimensions: vec![("ApiId", api.physical.clone())],
    });
    let topic = &stack.resource("Notices")?.physical;
    let topic = topic.rsplit(':').next().unwrap_or_default();
    queries.push(Query {
        item: Item::TopicRequests,
        by: "notifications".to_owned(),
        factor: 1.0,
        namespace: "AWS/SNS",
        metric: "NumberOfMessagesPublished",
        dimensions: vec![("TopicName", topic.to_owned())],
    });
    Ok(queries)
}

/// The metrics of a table do not include its indexes.
fn units(table: &str, index: Option<&str>) -> [Query; 2] {
    let of = |item, metric| {
        let table = ("TableName", table.to_owned());
        let index = index.map(|index| ("GlobalSecondaryIndexName", index.to_owned()));
        Query {
            item,
            by: table.1.clone(),
            factor: 1.0,
            namespace: "AWS/DynamoDB",
            metric,
            dimensions: [table].into_iter().chain(index).collect(),
        }
    };
    [
        of(Item::WriteUnits, "ConsumedWriteCapacityUnits"),
        of(Item::ReadUnits, "ConsumedReadCapacityUnits"),
    ]
}

fn of_function(function: &Deployed) -> Vec<Query> {
    let of = |item, factor, metric| Query {
        item,
        by: function.name.clone(),
        factor,
        namespace: "AWS/Lambda",
        metric,
        dimensions: vec![("FunctionName", function.name.clone())],
    };
    // Milliseconds, at this many megabytes.
    let gb_seconds = function.memory_mb / 1024.0 / 1000.0;
    let mut queries = vec![
        of(Item::Invocations, 1.0, "Invocations"),
        of(Item::Compute, gb_seconds, "Duration"),
        Query {
            item: Item::LogsWritten,
            by: function.name.clone(),
            factor: 1.0 / GB,
            namespace: "AWS/Logs",
            metric: "IncomingBytes",
            dimensions: vec![("LogGroupName", format!("/aws/lambda/{}", function.name))],
        },
    ];
    if function.logical == "PollerFunction" {
        queries.push(of(Item::ScheduledInvocations, 1.0, "Invocations"));
    }
    queries
}

/// The usage in the answer to these queries.
pub(super) fn usage(queries: &[Query], answer: &Value) -> Usage {
    let results: Vec<&Value> = list(answer, "/MetricDataResults").collect();
    let sum = |n: usize| {
        let of_query = results
            .iter()
            .filter(|result| at(result, "/Id") == id(n).as_str());
        let values = of_query.filter_map(|result| at(result, "/Values").as_array());
        values.flatten().filter_map(Value::as_f64).sum::<f64>()
    };
    queries
        .iter()
        .enumerate()
        .fold(Usage::default(), |usage, (n, query)| {
            usage.with(query.item, &query.by, sum(n) * query.factor)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_days_of_a_metric_are_added_up_and_converted() {
        let function = json!({"Configuration": {"MemorySize": 512}});
        let stack = super::super::super::stack::tests::sample(&[]);
        let poller = stack.resource("PollerFunction").unwrap();
        let queries = of_function(&Deployed::read(poller, &function));
        let answer = json!({"MetricDataResults": [
            {"Id": "q0", "Values": [1440.0, 1440.0]},
            {"Id": "q1", "Values": [288_000.0]},
            // The rest of the days, on another page.
            {"Id": "q1", "Values": [288_000.0]},
            {"Id": "q3", "Values": [2880.0]},
        ]});
        let usage = usage(&queries, &answer);
        assert!((usage.total(Item::Invocations) - 2880.0).abs() < 1e-9);
        assert!((usage.total(Item::Compute) - 288.0).abs() < 1e-9);
        assert!((usage.total(Item::ScheduledInvocations) - 2880.0).abs() < 1e-9);
        assert!(usage.total(Item::LogsWritten).abs() < 1e-9);
    }

    #[test]
    fn an_index_is_asked_for_by_table_and_name() {
        let [writes, _] = units("deliveries", Some("recent"));
        let request = writes.request(3);
        assert_eq!(request["Id"], "q3");
        let dimensions = &request["MetricStat"]["Metric"]["Dimensions"];
        assert_eq!(
            dimensions[1],
            json!({"Name": "GlobalSecondaryIndexName", "Value": "recent"})
        );
    }
}
