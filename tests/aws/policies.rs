//! The permissions of each function: no more than the design allows, and no wildcard.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::template::{list, of_type, template};

/// The resources that a statement names; both branches of a condition.
fn named(resource: &Value) -> Vec<String> {
    if let Some(ends) = resource["Fn::If"].as_array() {
        return ends[1..].iter().flat_map(named).collect();
    }
    let name = match (
        &resource["Fn::GetAtt"],
        &resource["Ref"],
        &resource["Fn::Sub"],
    ) {
        (Value::Array(parts), _, _) => parts[0].as_str().unwrap().to_owned(),
        (_, Value::String(name), _) => name.clone(),
        (_, _, Value::String(text)) => {
            let text = text.replace("${FailedChanges.Arn}", "FailedChanges");
            text.replace("${Bodies.Arn}", "Bodies")
        }
        (_, _, Value::Array(parts)) => {
            let text = parts[0].as_str().unwrap();
            let table = named(&parts[1]["Table"]).remove(0);
            text.replace("${Table}", &table)
        }
        _ => resource.to_string(),
    };
    // Each function has its own log group, the key is the stack's or the user's, and a table may be a restored one.
    let name = match name.as_str() {
        "DeliveriesTableArn" | "DeliveriesStreamArn" => "WebhookDeliveries",
        "ConfigsTableArn" => "WebhookConfigs",
        name if name.ends_with("Logs") => "Logs",
        "EnvelopeKey" | "KmsKeyArn" => "Key",
        name => name,
    };
    vec![name.to_owned()]
}

/// Every action of a policy with its resource, one entry each.
fn grants(policy: &Value) -> BTreeSet<String> {
    let mut grants = BTreeSet::new();
    for statement in list(&policy["Statement"]) {
        assert_eq!(statement["Effect"], "Allow");
        for action in list(&statement["Action"]) {
            let action = action.as_str().unwrap();
            for resource in list(&statement["Resource"]) {
                grants.extend(
                    named(resource)
                        .iter()
                        .map(|name| format!("{action} {name}")),
                );
            }
        }
    }
    grants
}

fn role_grants(template: &Value, role: &str) -> BTreeSet<String> {
    let policies = &template["Resources"][role]["Properties"]["Policies"];
    let policies = policies.as_array().unwrap().iter();
    policies
        .flat_map(|policy| grants(&policy["PolicyDocument"]))
        .collect()
}

const LOGS: &[&str] = &["logs:CreateLogStream Logs", "logs:PutLogEvents Logs"];
const READ_CONFIGS: &[&str] = &[
    "dynamodb:GetItem WebhookConfigs",
    "dynamodb:BatchGetItem WebhookConfigs",
    "dynamodb:Query WebhookConfigs",
];
const READ_ROWS: &[&str] = &[
    "dynamodb:GetItem WebhookDeliveries",
    "dynamodb:BatchGetItem WebhookDeliveries",
];
const INDEXES: &[&str] = &[
    "dynamodb:Query WebhookDeliveries/index/status-next_retry_at",
    "dynamodb:Query WebhookDeliveries/index/recent",
    "dynamodb:Query WebhookDeliveries/index/by_webhook",
    "dynamodb:Query WebhookDeliveries/index/by_session",
    "dynamodb:Query WebhookDeliveries/index/trouble",
];
const HINT: &[&str] = &["sqs:SendMessage HintQueue"];
const DRAIN: &[&str] = &["sqs:SendMessage DrainQueue"];
const UNSEAL: &[&str] = &["kms:Decrypt Key"];
const STORE_BODIES: &[&str] = &["s3:PutObject Bodies/*"];
const BODIES: &[&str] = &[
    "s3:GetObject Bodies/*",
    "s3:PutObject Bodies/*",
    "s3:ListBucket Bodies",
];

/// What each function needs, as AWS actions and resources.
fn allowed() -> [(&'static str, Vec<&'static [&'static str]>); 9] {
    let receiver: &[&str] = &[
        "dynamodb:PutItem WebhookDeliveries",
        "dynamodb:UpdateItem WebhookDeliveries",
    ];
    let api: &[&str] = &[
        "dynamodb:Query WebhookDeliveries",
        "dynamodb:PutItem WebhookDeliveries",
        "dynamodb:UpdateItem WebhookDeliveries",
        "dynamodb:DeleteItem WebhookDeliveries",
        "dynamodb:ConditionCheckItem WebhookDeliveries",
        "dynamodb:PutItem WebhookConfigs",
        "dynamodb:UpdateItem WebhookConfigs",
        "dynamodb:DeleteItem WebhookConfigs",
        "dynamodb:ConditionCheckItem WebhookConfigs",
        "kms:GenerateDataKey Key",
        "secretsmanager:GetSecretValue FirstKey",
        "s3:DeleteObject Bodies/*",
    ];
    let poller: &[&str] = &[
        "dynamodb:Query WebhookDeliveries",
        "dynamodb:PutItem WebhookDeliveries",
        "dynamodb:UpdateItem WebhookDeliveries",
        "dynamodb:DeleteItem WebhookDeliveries",
        "dynamodb:ConditionCheckItem WebhookDeliveries",
        "dynamodb:PutItem WebhookConfigs",
        "dynamodb:UpdateItem WebhookConfigs",
        "dynamodb:DeleteItem WebhookConfigs",
        "sqs:GetQueueAttributes HintQueue",
        "s3:DeleteObject Bodies/*",
    ];
    let dispatcher: &[&str] = &[
        "dynamodb:Query WebhookDeliveries",
        "dynamodb:PutItem WebhookDeliveries",
        "dynamodb:UpdateItem WebhookDeliveries",
        "sqs:ReceiveMessage HintQueue",
        "sqs:DeleteMessage HintQueue",
        "sqs:ChangeMessageVisibility HintQueue",
        "sqs:GetQueueAttributes HintQueue",
    ];
    let drainer: &[&str] = &[
        "dynamodb:Query WebhookDeliveries",
        "dynamodb:PutItem WebhookDeliveries",
        "dynamodb:UpdateItem WebhookDeliveries",
        "dynamodb:DeleteItem WebhookDeliveries",
        "dynamodb:Query WebhookDeliveries/index/status-next_retry_at",
        "sqs:ReceiveMessage DrainQueue",
        "sqs:DeleteMessage DrainQueue",
        "sqs:ChangeMessageVisibility DrainQueue",
        "sqs:GetQueueAttributes DrainQueue",
    ];
    let publisher: &[&str] = &[
        "dynamodb:DescribeStream WebhookDeliveries",
        "dynamodb:GetRecords WebhookDeliveries",
        "dynamodb:GetShardIterator WebhookDeliveries",
        "dynamodb:ListStreams WebhookDeliveries/stream/*",
        "dynamodb:PutItem WebhookDeliveries",
        "dynamodb:UpdateItem WebhookDeliveries",
        "dynamodb:UpdateItem WebhookConfigs",
        "sns:Publish Notices",
        "sqs:SendMessage UnreadableChanges",
        "s3:PutObject FailedChanges/*",
        "s3:ListBucket FailedChanges",
    ];
    let watcher: &[&str] = &[
        "dynamodb:DescribeStream WebhookDeliveries",
        "dynamodb:GetRecords WebhookDeliveries",
        "dynamodb:GetShardIterator WebhookDeliveries",
        "dynamodb:ListStreams WebhookDeliveries/stream/*",
        "dynamodb:BatchGetItem WebhookDeliveries",
        "dynamodb:UpdateItem WebhookDeliveries",
    ];
    let notifier: &[&str] = &[
        "dynamodb:GetItem WebhookConfigs",
        "dynamodb:UpdateItem WebhookDeliveries",
        "sqs:ReceiveMessage MailQueue",
        "sqs:DeleteMessage MailQueue",
        "sqs:ChangeMessageVisibility MailQueue",
        "sqs:GetQueueAttributes MailQueue",
    ];
    let bridge: &[&str] = &[
        "dynamodb:PutItem WebhookDeliveries",
        "sqs:SendMessage BridgeDeadLetters",
    ];
    [
        (
            "ReceiverRole",
            vec![
                LOGS,
                READ_CONFIGS,
                READ_ROWS,
                STORE_BODIES,
                HINT,
                UNSEAL,
                receiver,
            ],
        ),
        (
            "ApiRole",
            vec![
                LOGS,
                READ_CONFIGS,
                READ_ROWS,
                BODIES,
                INDEXES,
                HINT,
                DRAIN,
                UNSEAL,
                api,
            ],
        ),
        (
            "PollerRole",
            vec![
                LOGS,
                READ_CONFIGS,
                READ_ROWS,
                BODIES,
                INDEXES,
                HINT,
                DRAIN,
                poller,
            ],
        ),
        (
            "DispatcherRole",
            vec![
                LOGS,
                READ_CONFIGS,
                READ_ROWS,
                BODIES,
                HINT,
                DRAIN,
                UNSEAL,
                dispatcher,
            ],
        ),
        (
            "DrainerRole",
            vec![
                LOGS,
                READ_CONFIGS,
                READ_ROWS,
                BODIES,
                DRAIN,
                UNSEAL,
                drainer,
            ],
        ),
        ("PublisherRole", vec![LOGS, READ_ROWS, publisher]),
        ("WatcherRole", vec![LOGS, watcher]),
        ("NotifierRole", vec![LOGS, notifier]),
        (
            "BridgeRole",
            vec![
                LOGS,
                READ_CONFIGS,
                READ_ROWS,
                STORE_BODIES,
                HINT,
                UNSEAL,
                bridge,
            ],
        ),
    ]
}

#[tokio::test]
async fn each_function_has_exactly_the_permissions_of_the_design() {
    let template = template("template.yaml").await;
    assert_eq!(of_type(&template, "AWS::IAM::Role").len(), allowed().len());
    for (role, allowed) in allowed() {
        let allowed: BTreeSet<String> = allowed.concat().iter().map(ToString::to_string).collect();
        let held = role_grants(&template, role);
        let too_much: Vec<_> = held.difference(&allowed).collect();
        let missing: Vec<_> = allowed.difference(&held).collect();
        assert!(too_much.is_empty(), "{role} holds too much: {too_much:?}");
        assert!(missing.is_empty(), "{role} lacks: {missing:?}");
    }
}

#[tokio::test]
async fn optional_permissions_are_granted_only_where_needed() {
    let template = template("template.yaml").await;
    let held = of_type(&template, "AWS::IAM::Policy").into_iter();
    let held = held.map(|(name, policy)| {
        let condition = &template["Resources"][name]["Condition"];
        (
            condition.as_str().unwrap(),
            name.as_str(),
            grants(&policy["PolicyDocument"]),
        )
    });
    let bus = "events:PutEvents arn:${AWS::Partition}:events:${AWS::Region}:${AWS::AccountId}:event-bus/${NotificationBusName}";
    let identity =
        "ses:SendEmail arn:${AWS::Partition}:ses:${AWS::Region}:${AWS::AccountId}:identity";
    let allowed = [
        (
            "GivenKey",
            "BucketNeedsTheKey",
            vec!["kms:GenerateDataKey Key".to_owned()],
        ),
        (
            "GivenKey",
            "QueuesNeedTheKey",
            vec![
                "kms:Decrypt Key".to_owned(),
                "kms:GenerateDataKey Key".to_owned(),
            ],
        ),
        (
            "GivenKey",
            "TablesNeedTheKey",
            vec!["kms:Decrypt Key".to_owned()],
        ),
        (
            "GivenKey",
            "BodiesNeedTheKey",
            vec![
                "kms:Decrypt Key".to_owned(),
                "kms:GenerateDataKey Key".to_owned(),
            ],
        ),
        (
            "GivenKey",
            "TopicNeedsTheKey",
            vec![
                "kms:Decrypt Key".to_owned(),
                "kms:GenerateDataKey Key".to_owned(),
            ],
        ),
        ("NotifiesBus", "PublisherMayPutEvents", vec![bus.to_owned()]),
        (
            "Mails",
            "NotifierMayMail",
            vec![
                format!("{identity}/${{Domain}}"),
                format!("{identity}/${{MailFrom}}"),
            ],
        ),
    ];
    let held: BTreeSet<_> = held.collect();
    let allowed =
        allowed.map(|(condition, name, grants)| (condition, name, BTreeSet::from_iter(grants)));
    assert_eq!(held, BTreeSet::from(allowed));
}

/// The keys to which the role limits an action.
fn leading_keys(template: &Value, role: &str, wanted: &str) -> Value {
    let policies = &template["Resources"][role]["Properties"]["Policies"];
    let statements = list(&policies[0]["PolicyDocument"]["Statement"]);
    let allows = |action: &&Value| **action == *wanted;
    let mut found = statements
        .iter()
        .filter(|statement| list(&statement["Action"]).iter().any(allows));
    let one = found.next().unwrap();
    assert!(found.next().is_none(), "{wanted} stands once");
    one["Condition"]["ForAllValues:StringLike"]["dynamodb:LeadingKeys"].clone()
}

#[tokio::test]
async fn the_receiver_writes_only_events_and_rejected_requests() {
    let template = template("template.yaml").await;
    let keys = |action: &str| leading_keys(&template, "ReceiverRole", action);
    assert_eq!(keys("dynamodb:PutItem"), json!(["*#evt_*", "*#src_*"]));
    assert_eq!(keys("dynamodb:UpdateItem"), json!(["*#src_*"]));
}

#[tokio::test]
async fn the_bridge_writes_only_events_of_its_tenant() {
    let template = template("template.yaml").await;
    let keys = leading_keys(&template, "BridgeRole", "dynamodb:PutItem");
    assert_eq!(keys, json!([{"Fn::Sub": "${EventTenant}#evt_*"}]));
}

#[tokio::test]
async fn the_watcher_writes_only_lanes_of_rows() {
    let template = template("template.yaml").await;
    let policies = &template["Resources"]["WatcherRole"]["Properties"]["Policies"];
    let statements = list(&policies[0]["PolicyDocument"]["Statement"]);
    let updates = |statement: &&&Value| statement["Action"] == "dynamodb:UpdateItem";
    let condition = &statements.iter().find(updates).unwrap()["Condition"];
    let keys = &condition["ForAllValues:StringLike"]["dynamodb:LeadingKeys"];
    assert_eq!(keys, &json!(["*#evt_*"]));
    let attributes = &condition["ForAllValues:StringEquals"]["dynamodb:Attributes"];
    assert_eq!(
        attributes,
        &json!(["pk", "sk", "lane", "status", "created_at"])
    );
}

/// Where AWS has no finer resource, or the name is not known in advance. The ARN of a log group also ends in `:*` for its
/// streams, but the template does not write that.
const STARS: [&str; 5] = [
    "dynamodb:ListStreams WebhookDeliveries/stream/*",
    "s3:DeleteObject Bodies/*",
    "s3:GetObject Bodies/*",
    "s3:PutObject Bodies/*",
    "s3:PutObject FailedChanges/*",
];

#[tokio::test]
async fn no_role_has_a_wildcard_or_may_scan() {
    let template = template("template.yaml").await;
    let roles = of_type(&template, "AWS::IAM::Role").into_iter();
    let mut held: BTreeSet<String> = roles
        .flat_map(|(role, _)| role_grants(&template, role))
        .collect();
    for (_, policy) in of_type(&template, "AWS::IAM::Policy") {
        held.extend(grants(&policy["PolicyDocument"]));
    }
    let stars: Vec<_> = held.iter().filter(|grant| grant.contains('*')).collect();
    assert_eq!(stars, STARS);
    assert!(!held.iter().any(|grant| grant.contains("Scan")));
}
