//! Corrections, right after the deployment, where the emulator differs from AWS.

use serde_json::{Value, json};

use super::bridge::Bridge;
use super::stack::output;
use super::template::list;

pub(super) async fn all(aws: &Bridge, outputs: &Value) {
    concurrency(aws).await;
    expiry(aws, outputs).await;
    recovery(aws, outputs).await;
    roles(aws).await;
}

/// A number from a parameter reaches the event source as text, which the emulator cannot handle.
async fn concurrency(aws: &Bridge) {
    let mappings = aws
        .call("lambda", "list_event_source_mappings", json!({}))
        .await;
    for mapping in mappings["EventSourceMappings"].as_array().unwrap() {
        if mapping.get("ScalingConfig").is_some() {
            let number =
                json!({"UUID": mapping["UUID"], "ScalingConfig": {"MaximumConcurrency": 10}});
            aws.call("lambda", "update_event_source_mapping", number)
                .await;
        }
    }
}

/// The emulator drops the point-in-time recovery of the tables.
async fn recovery(aws: &Bridge, outputs: &Value) {
    for table in ["DeliveriesTable", "ConfigsTable"] {
        let recovery = json!({"PointInTimeRecoveryEnabled": true});
        let recovery = json!({"TableName": output(outputs, table), "PointInTimeRecoverySpecification": recovery});
        aws.call("dynamodb", "update_continuous_backups", recovery)
            .await;
    }
}

/// The emulator drops the time to live of the tables.
async fn expiry(aws: &Bridge, outputs: &Value) {
    for table in ["DeliveriesTable", "ConfigsTable"] {
        let expiry = json!({"AttributeName": "expires_at", "Enabled": true});
        let expiry =
            json!({"TableName": output(outputs, table), "TimeToLiveSpecification": expiry});
        aws.call("dynamodb", "update_time_to_live", expiry).await;
    }
}

/// On AWS the permission for a single call covers the batch; the emulator requires an action named after the batch.
const BATCHES: [(&str, &str); 2] = [
    ("sqs:SendMessage", "sqs:SendMessageBatch"),
    ("sns:Publish", "sns:PublishBatch"),
];

/// Gives the roles the same permissions on the emulator as on AWS, in a policy of its own: an update of the stack resets
/// the others.
async fn roles(aws: &Bridge) {
    let roles = aws.call("iam", "list_roles", json!({})).await;
    for role in roles["Roles"].as_array().unwrap() {
        let role = &role["RoleName"];
        let policies = json!({"RoleName": role});
        let policies = aws.call("iam", "list_role_policies", policies).await;
        let mut added = Vec::new();
        for name in policies["PolicyNames"].as_array().unwrap() {
            let policy = json!({"RoleName": role, "PolicyName": name});
            let held = aws.call("iam", "get_role_policy", policy).await;
            let statements = held["PolicyDocument"]["Statement"].as_array().unwrap();
            added.extend(statements.iter().filter_map(corrected));
        }
        if !added.is_empty() {
            let document = json!({"Version": "2012-10-17", "Statement": added});
            let policy = json!({"RoleName": role, "PolicyName": "emulator", "PolicyDocument": document.to_string()});
            aws.call("iam", "put_role_policy", policy).await;
        }
    }
}

/// What the emulator needs in addition to a statement.
fn corrected(statement: &Value) -> Option<Value> {
    let actions = list(&statement["Action"]);
    // AWS checks the sender's identity; the emulator has no resource for an e-mail.
    if actions.iter().any(|action| *action == "ses:SendEmail") {
        return Some(json!({"Effect": "Allow", "Action": "ses:SendEmail", "Resource": "*"}));
    }
    let batches = BATCHES
        .iter()
        .filter(|(single, _)| actions.iter().any(|action| *action == single));
    let batches: Vec<_> = batches.map(|(_, batch)| batch).collect();
    (!batches.is_empty())
        .then(|| json!({"Effect": "Allow", "Action": batches, "Resource": statement["Resource"]}))
}
