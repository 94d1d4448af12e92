//! Properties of `template.yaml` that the emulator ignores.

use std::collections::BTreeSet;
use std::path::Path;

use postrider_adapter_aws::dynamodb::LIFETIMES_DAYS;
use postrider_aws_bill::idle::STACK;
use postrider_domain::time::Millis;
use postrider_domain::webhook::{MAX_TIMEOUT_SECONDS, longest_attempt};
use serde_json::{Value, json};

use super::emulator::{repository, tool};
use super::stack::FUNCTIONS;

/// A template as JSON, with its short forms (`!Ref`, `!GetAtt`, …) written out.
pub(super) async fn template(path: &str) -> Value {
    let written_out = "import json, sys\nfrom samcli.yamlhelper import yaml_parse\n\
                       print(json.dumps(yaml_parse(open(sys.argv[1]).read())))";
    let mut python = tool("python");
    python
        .args(["-c", written_out])
        .arg(repository().join(path));
    let ended = python.output().await.unwrap();
    let failed = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{failed}");
    serde_json::from_slice(&ended.stdout).unwrap()
}

/// The resources of one type, by name, and their properties.
pub(super) fn of_type<'a>(template: &'a Value, kind: &str) -> Vec<(&'a String, &'a Value)> {
    let resources = template["Resources"].as_object().unwrap();
    let found = resources.iter().filter(|(_, it)| it["Type"] == kind);
    let found: Vec<_> = found.map(|(name, it)| (name, &it["Properties"])).collect();
    assert!(!found.is_empty(), "the template has no {kind}");
    found
}

/// The elements of a list, or a single value as one element.
pub(super) fn list(value: &Value) -> Vec<&Value> {
    match value.as_array() {
        Some(values) => values.iter().collect(),
        None => vec![value],
    }
}

#[tokio::test]
async fn each_function_has_its_own_role_and_expiring_logs() {
    let template = template("template.yaml").await;
    let functions = of_type(&template, "AWS::Serverless::Function");
    let mut roles = BTreeSet::new();
    for (name, function) in &functions {
        let role = function["Role"]["Fn::GetAtt"][0].as_str().unwrap();
        assert!(roles.insert(role), "{name} shares {role}");
        // With these, sam would add policies that contain a wildcard.
        assert!(function.get("Policies").is_none(), "{name}");
        let logs = function["LoggingConfig"]["LogGroup"]["Ref"]
            .as_str()
            .unwrap();
        let logs = &template["Resources"][logs]["Properties"];
        assert_eq!(logs["RetentionInDays"]["Ref"], "LogRetentionDays", "{name}");
    }
    assert_eq!(functions.len(), 9);
}

#[tokio::test]
async fn tables_expire_rows_can_be_restored_and_outlive_the_stack() {
    let template = template("template.yaml").await;
    for (name, table) in of_type(&template, "AWS::DynamoDB::Table") {
        let whole = &template["Resources"][name];
        assert_eq!(whole["DeletionPolicy"], "Retain", "{name}");
        assert_eq!(whole["UpdateReplacePolicy"], "Retain", "{name}");
        assert_eq!(table["BillingMode"], "PAY_PER_REQUEST", "{name}");
        let restore = &table["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"];
        assert_eq!(restore, true, "{name}");
        let expiry = &table["TimeToLiveSpecification"];
        assert_eq!(expiry["AttributeName"], "expires_at", "{name}");
        assert_eq!(expiry["Enabled"], true, "{name}");
        let given_key = &table["SSESpecification"]["Fn::If"];
        assert_eq!(given_key[0], "GivenKey", "{name}");
        assert_eq!(given_key[1]["KMSMasterKeyId"]["Ref"], "KmsKeyArn", "{name}");
    }
}

/// References to a table that a restored one would not replace.
fn fixed_references(value: &Value, table: &str, conditions: &[&str], found: &mut Vec<String>) {
    let condition = value["Fn::If"][0].as_str();
    if condition.is_some_and(|condition| conditions.contains(&condition)) {
        return;
    }
    let text = value["Fn::Sub"].as_str().or(value["Fn::Sub"][0].as_str());
    let is_reference = value["Ref"] == table
        || value["Fn::GetAtt"][0] == table
        || text.is_some_and(|text| text.contains(&format!("${{{table}")));
    if is_reference {
        found.push(value.to_string());
    }
    let (in_list, in_map) = (value.as_array(), value.as_object());
    let parts = in_list.into_iter().flatten();
    for part in parts.chain(in_map.into_iter().flat_map(serde_json::Map::values)) {
        fixed_references(part, table, conditions, found);
    }
}

#[tokio::test]
async fn a_restored_table_replaces_the_own_one_everywhere() {
    let template = template("template.yaml").await;
    let deliveries: &[&str] = &["RestoredDeliveries", "RestoredStream"];
    for (table, conditions) in [
        ("WebhookDeliveries", deliveries),
        ("WebhookConfigs", &["RestoredConfigs"]),
    ] {
        let mut found = Vec::new();
        for part in ["Globals", "Resources", "Outputs"] {
            fixed_references(&template[part], table, conditions, &mut found);
        }
        assert_eq!(found, [""; 0], "use !If with one of {conditions:?}");
    }
}

#[tokio::test]
async fn the_bucket_is_private_encrypted_and_expires_its_objects() {
    let template = template("template.yaml").await;
    let bodies = &template["Resources"]["Bodies"];
    assert_eq!(bodies["DeletionPolicy"], "Retain");
    assert_eq!(bodies["UpdateReplacePolicy"], "Retain");
    let bucket = &bodies["Properties"];
    let public = bucket["PublicAccessBlockConfiguration"].as_object();
    let public: Vec<_> = public.unwrap().values().collect();
    assert_eq!(public, [true; 4]);
    let encrypted = &bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"][0]["Fn::If"];
    assert_eq!(encrypted[0], "GivenKey");
    let with_key = &encrypted[1]["ServerSideEncryptionByDefault"];
    assert_eq!(with_key["KMSMasterKeyID"]["Ref"], "KmsKeyArn");
    let rules = bucket["LifecycleConfiguration"]["Rules"]
        .as_array()
        .unwrap();
    let days = rules.iter().map(|rule| {
        let days = rule["ExpirationInDays"].as_u64().unwrap();
        assert_eq!(rule["Prefix"], format!("{days}/"));
        assert_eq!(rule["Status"], "Enabled");
        days
    });
    assert_eq!(days.collect::<Vec<_>>(), LIFETIMES_DAYS);
    let denied = &template["Resources"]["BodiesPolicy"]["Properties"]["PolicyDocument"];
    let denied = &denied["Statement"][0];
    assert_eq!(
        (&denied["Effect"], &denied["Principal"]),
        (&json!("Deny"), &json!("*"))
    );
    assert_eq!(denied["Condition"]["Bool"]["aws:SecureTransport"], "false");
}

#[tokio::test]
async fn queues_are_encrypted_and_have_dead_letter_queues_with_alarms() {
    let template = template("template.yaml").await;
    let queues = of_type(&template, "AWS::SQS::Queue");
    for (name, queue) in &queues {
        let own = &queue["SqsManagedSseEnabled"]["Fn::If"];
        assert_eq!(
            own,
            &json!(["GivenKey", {"Ref": "AWS::NoValue"}, true]),
            "{name}"
        );
        let given = &queue["KmsMasterKeyId"]["Fn::If"];
        assert_eq!(given[1]["Ref"], "KmsKeyArn", "{name}");
    }
    let alarms = template_of_alarms().await;
    for queue in [
        "HintDeadLetters",
        "DrainDeadLetters",
        "FailedChangesSeen",
        "UnreadableChanges",
        "MailDeadLetters",
        "BridgeDeadLetters",
    ] {
        assert!(alarms.contains(queue), "no alarm on {queue}");
    }
    for queue in ["HintQueue", "DrainQueue"] {
        let messages = &template["Resources"][queue]["Properties"];
        assert_eq!(messages["RedrivePolicy"]["maxReceiveCount"], 5);
    }
    let default = |name: &str| template["Parameters"][name]["Default"].as_u64().unwrap();
    // https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html
    assert!(default("QueueVisibilitySeconds") >= 6 * default("DispatcherTimeoutSeconds"));
    let least = |name: &str| template["Parameters"][name]["MinValue"].as_u64().unwrap();
    assert!(least("QueueVisibilitySeconds") >= 6 * least("DispatcherTimeoutSeconds"));
    let longest = longest_attempt(Millis::from_seconds(MAX_TIMEOUT_SECONDS.into()));
    // The start guard needs 3 s, the work before an attempt a few more.
    assert!(1000 * least("DispatcherTimeoutSeconds") >= longest.get() + 8000);
}

async fn template_of_alarms() -> BTreeSet<String> {
    let alarms = template("infra/alarms.yaml").await;
    let alarms = of_type(&alarms, "AWS::CloudWatch::Alarm").into_iter();
    alarms
        .flat_map(|(_, alarm)| {
            list(&alarm["Dimensions"])
                .into_iter()
                .map(|it| it["Value"].clone())
                .collect::<Vec<_>>()
        })
        .filter_map(|value| value["Ref"].as_str().map(ToOwned::to_owned))
        .collect()
}

#[tokio::test]
async fn the_api_is_throttled_and_the_event_sources_report_each_record() {
    let template = template("template.yaml").await;
    let stages = of_type(&template, "AWS::ApiGatewayV2::Stage");
    let settings = &stages[0].1["DefaultRouteSettings"];
    assert_eq!(settings["ThrottlingRateLimit"]["Ref"], "ThrottleRate");
    assert_eq!(settings["ThrottlingBurstLimit"]["Ref"], "ThrottleBurst");
    let source = |function: &str, event: &str| {
        template["Resources"][function]["Properties"]["Events"][event]["Properties"].clone()
    };
    let stream = source("PublisherFunction", "Changes");
    assert_eq!(stream["BisectBatchOnFunctionError"], true);
    assert_eq!(stream["ParallelizationFactor"], 4);
    assert_eq!(stream["MaximumRetryAttempts"], -1);
    assert_eq!(stream["MaximumRecordAgeInSeconds"], 43_200);
    let failed = &stream["DestinationConfig"]["OnFailure"];
    assert_eq!(failed["Type"], "S3");
    assert_eq!(failed["Destination"]["Fn::GetAtt"][0], "FailedChanges");
    for events in [
        stream,
        source("DispatcherFunction", "Hints"),
        source("DrainerFunction", "Drains"),
        source("NotifierFunction", "Notices"),
    ] {
        assert_eq!(
            events["FunctionResponseTypes"][0],
            "ReportBatchItemFailures"
        );
    }
    // Otherwise Lambda drops a delivery's messages after 16 rounds as a runaway loop.
    for function in ["DispatcherFunction", "DrainerFunction"] {
        let function = &template["Resources"][function]["Properties"];
        assert_eq!(function["RecursiveLoop"], "Allow");
    }
}

/// A notification that became an event would cause deliveries, and those the next notifications.
#[tokio::test]
async fn a_bus_of_both_directions_makes_no_loop() {
    let template = template("template.yaml").await;
    let rule = &template["Resources"]["BridgeRule"]["Properties"];
    let source = &rule["EventPattern"]["source"]["Fn::If"];
    assert_eq!(source[0], "GivenSources");
    assert_eq!(source[1]["Ref"], "EventSources");
    assert_eq!(
        source[2],
        json!([{"anything-but": {"prefix": "postrider"}}])
    );
    let sources = &template["Parameters"]["EventSources"];
    assert_eq!(sources["AllowedPattern"], "^(?!postrider).*$");
}

/// EventBridge hands events over asynchronously: its own policy covers what Lambda does not take, and Lambda's what the
/// function could not handle.
#[tokio::test]
async fn an_event_of_the_bus_is_retried_and_then_kept() {
    let template = template("template.yaml").await;
    let resource = |name: &str| template["Resources"][name]["Properties"].clone();
    let queue = json!(["BridgeDeadLetters", "Arn"]);
    let target = &resource("BridgeRule")["Targets"][0];
    assert_eq!(target["DeadLetterConfig"]["Arn"]["Fn::GetAtt"], queue);
    assert_eq!(target["RetryPolicy"]["MaximumEventAgeInSeconds"], 86400);
    let function = resource("BridgeFunction");
    assert_eq!(
        function["DeadLetterQueue"]["TargetArn"]["Fn::GetAtt"],
        queue
    );
    assert_eq!(function["EventInvokeConfig"]["MaximumRetryAttempts"], 2);
    let allowed = &resource("BridgeDeadLettersPolicy")["PolicyDocument"]["Statement"][0];
    assert_eq!(allowed["Principal"]["Service"], "events.amazonaws.com");
    let from = &allowed["Condition"]["ArnEquals"]["aws:SourceArn"];
    assert_eq!(from["Fn::GetAtt"], json!(["BridgeRule", "Arn"]));
}

#[tokio::test]
async fn a_shadow_request_has_the_egress_rules_of_a_delivery_and_ends_before_its_caller_times_out()
{
    let template = template("template.yaml").await;
    let function = |name: &str| template["Resources"][name]["Properties"].clone();
    let (api, dispatcher) = (function("ApiFunction"), function("DispatcherFunction"));
    let egress = |function: &Value| {
        let variables = function["Environment"]["Variables"].as_object().unwrap();
        let egress = variables.iter().filter(|(name, _)| name.contains("EGRESS"));
        egress
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect::<Vec<_>>()
    };
    assert!(!egress(&api).is_empty());
    assert_eq!(egress(&api), egress(&dispatcher));
    let longest = u64::from(postrider_domain::shadow::MAX_TIMEOUT_SECONDS);
    assert!(api["Timeout"].as_u64().unwrap() > longest + 6);
    let integration = function("ApiIntegration")["TimeoutInMillis"].as_u64();
    assert!(integration.unwrap() > (longest + 6) * 1000);
}

/// Whatever may go wrong, the watcher sees every accepted row.
#[tokio::test]
async fn the_watcher_reads_every_accepted_row_and_gives_up_none() {
    let template = template("template.yaml").await;
    let events = &template["Resources"]["WatcherFunction"]["Properties"]["Events"];
    let accepted = &events["Accepted"]["Properties"];
    assert_eq!(accepted["StartingPosition"], "TRIM_HORIZON");
    assert_eq!(accepted["MaximumRetryAttempts"], -1);
    assert_eq!(accepted["MaximumRecordAgeInSeconds"], -1);
    assert_eq!(accepted["ParallelizationFactor"], 1);
    assert_eq!(accepted["MaximumBatchingWindowInSeconds"], 120);
    let filters = accepted["FilterCriteria"]["Filters"].as_array().unwrap();
    assert_eq!(filters.len(), 1);
    let pattern: Value = serde_json::from_str(filters[0]["Pattern"].as_str().unwrap()).unwrap();
    assert!(pattern.get("eventName").is_none());
    let image = pattern["dynamodb"]["NewImage"].as_object().unwrap();
    let named: BTreeSet<_> = image.keys().map(String::as_str).collect();
    assert_eq!(named, BTreeSet::from(["status", "version"]));
}

/// The schedule is what brings overdue rows and those due in more than 15 minutes to the queue; every other test ticks the
/// poller by hand.
#[tokio::test]
async fn the_poller_and_only_the_poller_is_started_every_minute() {
    let template = template("template.yaml").await;
    let mut schedules = Vec::new();
    for (name, function) in of_type(&template, "AWS::Serverless::Function") {
        let events = function["Events"].as_object().into_iter().flatten();
        let events = events.filter(|(_, event)| event["Type"] == "ScheduleV2");
        schedules.extend(events.map(|(_, event)| (name.as_str(), &event["Properties"])));
    }
    assert_eq!(schedules.len(), 1, "{schedules:?}");
    let (function, schedule) = schedules[0];
    assert_eq!(function, "PollerFunction");
    assert_eq!(schedule["ScheduleExpression"], "rate(1 minute)");
    assert!(
        schedule.get("State").is_none(),
        "a schedule is enabled by default"
    );
}

#[test]
fn each_function_is_tested_with_its_sample_event() {
    let samples = std::fs::read_dir(repository().join("infra/events")).unwrap();
    let samples: BTreeSet<_> = samples
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(
        samples,
        BTreeSet::from(FUNCTIONS.map(|function| format!("{function}.json")))
    );
    for function in FUNCTIONS {
        let tests = repository().join(format!("functions/{function}/tests"));
        let sample = format!("infra/events/{function}.json\")");
        assert!(
            sources(&tests).any(|text| text.contains(&sample)),
            "no test in {} includes {sample}",
            tests.display()
        );
    }
}

/// The text of the Rust files in this folder and one level below.
fn sources(folder: &Path) -> impl Iterator<Item = String> {
    let entries = |folder: &Path| {
        let entries = std::fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().path())
    };
    entries(folder)
        .flat_map(move |path| match path.is_dir() {
            true => entries(&path).collect(),
            false => vec![path],
        })
        .filter(|path| path.extension().is_some_and(|it| it == "rs"))
        .map(|path| std::fs::read_to_string(path).unwrap())
}

#[tokio::test]
async fn the_bill_of_an_idle_month_has_what_the_template_creates() {
    let (template, alarms) = tokio::join!(template("template.yaml"), template("infra/alarms.yaml"));
    let count = |kind: &str| of_type(&template, kind).len();
    let functions = of_type(&template, "AWS::Serverless::Function");
    let queues = functions
        .iter()
        .flat_map(|(_, function)| function["Events"].as_object().into_iter().flatten())
        .filter(|(_, event)| event["Type"] == "SQS");
    // Without a sender of e-mails the notifier's is off.
    let queues = queues.filter(|(_, event)| event["Properties"]["Enabled"].is_null());
    let (with_maximum, others): (Vec<_>, Vec<_>) = queues.partition(|(_, event)| {
        event["Properties"]["ScalingConfig"]["MaximumConcurrency"].is_object()
    });
    let billed = |number: u32| usize::try_from(number).unwrap();
    // Those of the bridge exist only with a bus.
    let alarms = alarms["Resources"].as_object().unwrap().values();
    let alarms = alarms.filter(|it| it["Type"] == "AWS::CloudWatch::Alarm");
    let alarms = alarms.filter(|it| it["Condition"].is_null()).count();
    assert_eq!(billed(STACK.alarms), alarms);
    assert_eq!(billed(STACK.keys), count("AWS::KMS::Key"));
    assert_eq!(billed(STACK.secrets), count("AWS::SecretsManager::Secret"));
    assert_eq!(billed(STACK.queues_with_maximum), with_maximum.len());
    assert_eq!(billed(STACK.queues), others.len());
}
