//! Properties of the templates that no emulator shows: encryption, TLS, throttles, alarms, networks.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::template::{list, of_type, template};

fn denies_without_tls(document: &Value, resource: &str) -> bool {
    let statements = list(&document["Statement"]).into_iter();
    let mut denials = statements.filter(|it| {
        it["Effect"] == "Deny" && it["Condition"]["Bool"]["aws:SecureTransport"] == "false"
    });
    denials.any(|it| it["Principal"] == "*" && it["Resource"].to_string().contains(resource))
}

#[tokio::test]
async fn queues_topics_and_buckets_are_closed_to_calls_without_tls() {
    let template = template("template.yaml").await;
    let kinds = [
        ("AWS::SQS::Queue", "AWS::SQS::QueuePolicy", "Queues"),
        ("AWS::SNS::Topic", "AWS::SNS::TopicPolicy", "Topics"),
        ("AWS::S3::Bucket", "AWS::S3::BucketPolicy", "Bucket"),
    ];
    for (kind, policy, members) in kinds {
        let policies = of_type(&template, policy);
        for (name, _) in of_type(&template, kind) {
            let of_it = |policy: &&(&String, &Value)| {
                let members = list(&policy.1[members]);
                members.iter().any(|it| it["Ref"] == name.as_str())
            };
            let policy = policies.iter().find(of_it);
            let (_, policy) = policy.unwrap_or_else(|| panic!("{name} has no policy"));
            assert!(
                denies_without_tls(&policy["PolicyDocument"], name),
                "{name}"
            );
        }
    }
}

#[tokio::test]
async fn failed_changes_are_encrypted_private_and_expire() {
    let template = template("template.yaml").await;
    let bucket = &template["Resources"]["FailedChanges"]["Properties"];
    let encryption = &bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"][0]["Fn::If"];
    let given = &encryption[1]["ServerSideEncryptionByDefault"];
    assert_eq!(given["KMSMasterKeyID"]["Ref"], "KmsKeyArn");
    assert_eq!(
        encryption[2]["ServerSideEncryptionByDefault"]["SSEAlgorithm"],
        "AES256"
    );
    let lifecycle = &bucket["LifecycleConfiguration"]["Rules"][0];
    assert_eq!(
        (&lifecycle["ExpirationInDays"], &lifecycle["Status"]),
        (&json!(14), &json!("Enabled"))
    );
    let closed = bucket["PublicAccessBlockConfiguration"]
        .as_object()
        .unwrap();
    assert_eq!(closed.len(), 4);
    assert!(closed.values().all(|it| it == true));
    let told = &bucket["NotificationConfiguration"]["QueueConfigurations"][0]["Queue"];
    assert_eq!(told["Fn::GetAtt"][0], "FailedChangesSeen");
}

#[tokio::test]
async fn inbound_routes_have_a_throttle_of_their_own_that_waits_for_them() {
    let template = template("template.yaml").await;
    let routes = of_type(&template, "AWS::ApiGatewayV2::Route").into_iter();
    let inbound: BTreeSet<_> = routes
        .filter(|(_, route)| route["RouteKey"].as_str().unwrap().contains("/gateway/"))
        .map(|(name, route)| (name.as_str(), route["RouteKey"].as_str().unwrap()))
        .collect();
    let stage = &template["Resources"]["HttpStage"];
    let settings = stage["Properties"]["RouteSettings"].as_object().unwrap();
    let waited: Vec<_> = list(&stage["DependsOn"]);
    assert_eq!(inbound.len(), settings.len());
    for (name, key) in inbound {
        assert_eq!(
            settings[key]["ThrottlingRateLimit"]["Ref"], "InboundRate",
            "{key}"
        );
        assert_eq!(
            settings[key]["ThrottlingBurstLimit"]["Ref"], "InboundBurst",
            "{key}"
        );
        assert!(
            waited.iter().any(|it| *it == name),
            "the stage does not wait for {name}"
        );
    }
    let default = |name: &str| template["Parameters"][name]["Default"].as_u64().unwrap();
    assert!(
        default("InboundRate") < default("ThrottleRate"),
        "publishers keep a share"
    );
    let log = &stage["Properties"]["AccessLogSettings"];
    assert_eq!(log["DestinationArn"]["Fn::GetAtt"][0], "HttpLogs");
    let line: Value = serde_json::from_str(log["Format"].as_str().unwrap()).unwrap();
    assert!(line["route"].is_string() && line["status"].is_string());
}

#[tokio::test]
async fn a_failed_tick_is_not_repeated_and_nothing_is_reserved_by_default() {
    let template = template("template.yaml").await;
    let poller = &template["Resources"]["PollerFunction"]["Properties"];
    let asynchronous = &poller["EventInvokeConfig"];
    assert_eq!(asynchronous["MaximumRetryAttempts"], 0);
    assert_eq!(asynchronous["MaximumEventAgeInSeconds"], 60);
    for (name, function) in of_type(&template, "AWS::Serverless::Function") {
        let Some(reserved) = function.get("ReservedConcurrentExecutions") else {
            continue;
        };
        let choice = &reserved["Fn::If"];
        let parameter = choice[1]["Ref"].as_str().unwrap();
        assert_eq!(choice[2]["Ref"], "AWS::NoValue", "{name}");
        assert_eq!(template["Parameters"][parameter]["Default"], 0, "{name}");
    }
}

#[tokio::test]
async fn a_retained_secret_does_not_block_a_new_stack() {
    let template = template("template.yaml").await;
    let secret = &template["Resources"]["FirstKey"];
    assert_eq!(secret["DeletionPolicy"], "Retain");
    assert_eq!(secret["UpdateReplacePolicy"], "Retain");
    assert!(secret["Properties"].get("Name").is_none());
    assert_eq!(
        secret["Properties"]["KmsKeyId"]["Fn::If"][1]["Ref"],
        "KmsKeyArn"
    );
    assert_eq!(
        template["Outputs"]["FirstKeySecret"]["Value"]["Ref"],
        "FirstKey"
    );
    for (name, group) in of_type(&template, "AWS::Logs::LogGroup") {
        assert_eq!(group["KmsKeyId"]["Fn::If"][1]["Ref"], "KmsKeyArn", "{name}");
    }
}

#[tokio::test]
async fn table_and_indexes_share_their_throughput_parameters() {
    let template = template("template.yaml").await;
    let table = &template["Resources"]["WebhookDeliveries"]["Properties"];
    let indexes = table["GlobalSecondaryIndexes"].as_array().unwrap();
    for part in std::iter::once(table).chain(indexes) {
        let name = &part["IndexName"];
        let caps = &part["OnDemandThroughput"]["Fn::If"];
        assert_eq!(caps[0], "Caps", "{name}");
        assert_eq!(
            caps[1]["MaxWriteRequestUnits"]["Fn::If"][1]["Ref"], "MaxWriteUnits",
            "{name}"
        );
        let warm = &part["WarmThroughput"]["Fn::If"];
        assert_eq!(
            warm[1]["WriteUnitsPerSecond"]["Ref"], "WarmWriteUnits",
            "{name}"
        );
    }
    let alarms = super::template::template("infra/alarms.yaml").await;
    let watched: BTreeSet<_> = of_type(&alarms, "AWS::CloudWatch::Alarm")
        .into_iter()
        .filter(|(_, alarm)| alarm["MetricName"] == "WriteThrottleEvents")
        .map(|(_, alarm)| alarm["Dimensions"][1]["Value"].clone().to_string())
        .collect();
    let expected = indexes.iter().map(|index| index["IndexName"].to_string());
    assert_eq!(watched, expected.chain(["null".to_owned()]).collect());
}

/// The watch on what a function reads too late: one alarm per mapping of the stream.
#[tokio::test]
async fn every_reader_of_the_stream_has_an_alarm_on_its_age() {
    let template = template("template.yaml").await;
    let alarms = super::template::template("infra/alarms.yaml").await;
    let watched: BTreeSet<_> = of_type(&alarms, "AWS::CloudWatch::Alarm")
        .into_iter()
        .filter(|(_, alarm)| alarm["MetricName"] == "IteratorAge")
        .map(|(_, alarm)| alarm["Dimensions"][0]["Value"]["Fn::Sub"].as_str().unwrap())
        .map(|name| name.replace("${Gateway}-", ""))
        .collect();
    let functions = of_type(&template, "AWS::Serverless::Function").into_iter();
    let readers: BTreeSet<_> = functions
        .filter(|(_, function)| {
            let events = function["Events"].as_object().into_iter().flatten();
            events
                .into_iter()
                .any(|(_, event)| event["Type"] == "DynamoDB")
        })
        .map(|(name, _)| name.trim_end_matches("Function").to_lowercase())
        .collect();
    assert_eq!(watched, readers);
    assert!(!readers.is_empty());
}

#[tokio::test]
async fn functions_that_call_receivers_can_run_in_a_vpc_that_receivers_cannot_reach() {
    let template = template("template.yaml").await;
    let egress = super::template::template("infra/egress.yaml").await;
    for name in ["DispatcherFunction", "DrainerFunction"] {
        let function = &template["Resources"][name]["Properties"];
        assert_eq!(function["VpcConfig"]["Fn::If"][0], "InVpc", "{name}");
        let denied = &function["Environment"]["Variables"]["POSTRIDER_EGRESS_DENY"];
        assert_eq!(denied["Ref"], "VpcCidrs", "{name}");
    }
    let rules = &template["Rules"]["SubnetsNeedTheRest"]["Assertions"];
    assert_eq!(list(rules).len(), 2, "security groups and ranges");
    for output in ["SubnetIds", "SecurityGroupIds", "VpcCidrs"] {
        assert!(template["Parameters"][output].is_object(), "{output}");
        assert!(egress["Outputs"][output].is_object(), "{output}");
    }
    let subnets = of_type(&egress, "AWS::EC2::RouteTable").len() - 1;
    for (name, service) in [("DynamoDb", "dynamodb"), ("S3", "s3")] {
        let endpoint = &egress["Resources"][name]["Properties"];
        assert_eq!(endpoint["VpcEndpointType"], "Gateway", "{name}");
        let named = endpoint["ServiceName"].to_string();
        assert!(named.contains(&format!(".{service}\"")), "{named}");
        assert_eq!(list(&endpoint["RouteTableIds"]).len(), subnets, "{name}");
    }
    let addresses = of_type(&egress, "AWS::EC2::EIP").len();
    assert_eq!(addresses, of_type(&egress, "AWS::EC2::NatGateway").len());
    let addresses = egress["Outputs"]["EgressIps"]["Value"].to_string();
    assert!(addresses.contains("Address3.PublicIp"));
}

/// Whether a pattern of an event source mapping matches a record. Only what the template uses: equality and prefix.
fn matches(pattern: &Value, record: &Value) -> bool {
    match pattern {
        Value::Object(members) => members.iter().all(|(name, it)| matches(it, &record[name])),
        Value::Array(choices) => choices
            .iter()
            .any(|choice| match choice["prefix"].as_str() {
                Some(prefix) => record.as_str().is_some_and(|text| text.starts_with(prefix)),
                None => record == choice,
            }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => panic!("{pattern}"),
    }
}

#[tokio::test]
async fn the_publisher_is_woken_by_what_concerns_it_and_by_nothing_else() {
    let template = template("template.yaml").await;
    let mapping = &template["Resources"]["PublisherFunction"]["Properties"]["Events"]["Changes"];
    let filters = list(&mapping["Properties"]["FilterCriteria"]["Filters"]);
    let patterns: Vec<Value> = filters
        .iter()
        .map(|filter| serde_json::from_str(filter["Pattern"].as_str().unwrap()).unwrap())
        .collect();
    assert_eq!(patterns.len(), 5, "AWS allows five");
    let row = |event: &str, old: Value, new: Value| json!({"eventName": event, "dynamodb": {"Keys": {"sk": {"S": "delivery#wh_1"}}, "OldImage": old, "NewImage": new}});
    let item = |sk: &str, event: &str, new: Value| json!({"eventName": event, "dynamodb": {"Keys": {"sk": {"S": sk}}, "NewImage": new}});
    let free = json!({"lease_until": {"N": "0"}});
    let held = json!({"lease_until": {"N": "1794816000000"}});
    let with_status = |status: &str| json!({"status": {"S": status}});
    let cases = [
        (row("MODIFY", json!({}), free.clone()), true),
        (row("MODIFY", json!({}), held), false),
        (row("INSERT", json!({}), free), false),
        (row("REMOVE", with_status("pending"), json!({})), true),
        (row("REMOVE", with_status("failed"), json!({})), true),
        (row("REMOVE", with_status("delivered"), json!({})), false),
        (item("state", "MODIFY", json!({})), true),
        (item("state", "INSERT", json!({})), false),
        (
            item("event", "INSERT", json!({"origin": {"S": "src_1"}})),
            true,
        ),
        (
            item("event", "INSERT", json!({"origin": {"S": "api"}})),
            false,
        ),
        (item("refused#0000000001", "INSERT", json!({})), true),
        (item("feed#1", "INSERT", json!({})), false),
        (item("stats#1", "MODIFY", json!({})), false),
    ];
    for (record, wakes) in cases {
        let woken = patterns.iter().any(|pattern| matches(pattern, &record));
        assert_eq!(woken, wakes, "{record}");
    }
}
