//! Corrections, right after the deployment, where the emulator differs from AWS.

use serde_json::{Value, json};

use super::bridge::Bridge;
use super::stack::output;

pub(super) async fn all(aws: &Bridge, outputs: &Value) {
    concurrency(aws).await;
    expiry(aws, outputs).await;
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

/// Gives the roles the same permissions on the emulator as on AWS.
async fn roles(aws: &Bridge) {
    let roles = aws.call("iam", "list_roles", json!({})).await;
    for role in roles["Roles"].as_array().unwrap() {
        let role = &role["RoleName"];
        let policies = json!({"RoleName": role});
        let policies = aws.call("iam", "list_role_policies", policies).await;
        for name in policies["PolicyNames"].as_array().unwrap() {
            let policy = json!({"RoleName": role, "PolicyName": name});
            let mut held = aws.call("iam", "get_role_policy", policy.clone()).await;
            for statement in held["PolicyDocument"]["Statement"].as_array_mut().unwrap() {
                let single = statement["Action"].take();
                statement["Action"] = with_batches(single);
                // AWS checks the sender's identity; the emulator has no resource for an e-mail.
                if statement["Action"] == json!(["ses:SendEmail"]) {
                    statement["Resource"] = json!("*");
                }
            }
            let mut corrected = policy;
            corrected["PolicyDocument"] = held["PolicyDocument"].to_string().into();
            aws.call("iam", "put_role_policy", corrected).await;
        }
    }
}

fn with_batches(actions: Value) -> Value {
    let several = actions.as_array().cloned();
    let mut actions = several.unwrap_or_else(|| vec![actions]);
    for (single, batch) in BATCHES {
        if actions.iter().any(|action| action == single) {
            actions.push(batch.into());
        }
    }
    Value::Array(actions)
}
