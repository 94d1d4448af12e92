//! The restore drill: the contents of the tables are destroyed, and `postrider aws restore` brings them back.

use http::Method;
use postrider_testkit::receiver::{Answer, Receiver};
use serde_json::{Value, json};

use super::operating::postrider_aws;
use super::stack::Stack;
use super::waiting::until;

/// The time that the drill restores. The emulator does not know it; see below.
const AT: &str = "2026-11-01T02:55:00Z";
const TABLES: [(&str, &str); 2] = [
    (
        "DeliveriesTable",
        "postrider-dev-deliveries-20261101T025500Z",
    ),
    ("ConfigsTable", "postrider-dev-configs-20261101T025500Z"),
];
const EVENTS: usize = 5;

pub(super) async fn the_stack_is_restored_and_everything_acknowledged_is_delivered(
    stack: &mut Stack,
) {
    let receiver = Receiver::start().await;
    receiver.answer(Answer::status(503));
    // Long enough that none is being attempted when the backup is made: such a row would wait for its lease to expire.
    let retry = json!({"profile": "custom", "delays_seconds": [20, 20, 20, 20, 20, 20, 20, 20]});
    let webhook = stack.api.webhook(&receiver.url(), &retry).await;
    let mut acknowledged = Vec::new();
    for n in 0..EVENTS {
        let body = format!(r#"{{"n": {n}}}"#);
        acknowledged.push(stack.api.publish(&webhook, &body).await);
    }
    until("every first attempt has failed", async || {
        let path = format!("/v1/deliveries?webhook_id={webhook}&status=failed");
        let page = stack.api.call(Method::GET, &path, None).await;
        page["items"].as_array().unwrap().len() == EVENTS
    })
    .await;
    back_up(stack).await;
    let lost = stack.api.publish(&webhook, r#"{"after": true}"#).await;
    for (table, _) in TABLES {
        destroy(stack, stack.output(table)).await;
    }
    receiver.answer(Answer::status(200));

    let (code, restored) = postrider_aws(stack, &["restore", "--to", AT, "--yes"]).await;
    assert_eq!(code, 0, "{restored}");
    stack.refresh().await;
    for (table, restored) in TABLES {
        assert_eq!(stack.output(table), restored);
        assert_set_up(stack, restored).await;
    }
    for delivery in &acknowledged {
        let row = stack.ticked_until_settled(delivery).await;
        assert_eq!(row["status"], "delivered", "{row}");
    }
    let path = format!("/v1/deliveries/{lost}");
    let (status, _) = stack.api.try_call(Method::GET, &path, None).await.unwrap();
    assert_eq!(status, 404, "it was accepted after the restored time");
    let later = stack.api.publish(&webhook, "{}").await;
    assert_eq!(stack.api.settled(&later).await["status"], "delivered");

    let (code, checked) = postrider_aws(stack, &["check"]).await;
    assert_eq!(code, 0, "{checked}");
}

/// Stands in for AWS's point-in-time restore, of which the emulator only copies the table as it is now: the restored tables
/// are made from backups, under the names that the command gives them. The command finds them, as it does when it is run a
/// second time, and goes on from there.
async fn back_up(stack: &Stack) {
    for (table, target) in TABLES {
        let backup = json!({"TableName": stack.output(table), "BackupName": "drill"});
        let backup = stack.aws.call("dynamodb", "create_backup", backup).await;
        let restore =
            json!({"TargetTableName": target, "BackupArn": backup["BackupDetails"]["BackupArn"]});
        stack
            .aws
            .call("dynamodb", "restore_table_from_backup", restore)
            .await;
    }
}

/// Deletes everything in a table.
async fn destroy(stack: &Stack, table: &str) {
    let keys =
        json!({"TableName": table, "ProjectionExpression": "pk, sk", "ConsistentRead": true});
    let scanned = stack.aws.call("dynamodb", "scan", keys).await;
    assert!(scanned.get("LastEvaluatedKey").is_none(), "one page");
    let items = scanned["Items"].as_array().unwrap();
    assert!(!items.is_empty());
    for keys in items.chunks(25) {
        let deletes = keys
            .iter()
            .map(|key| json!({"DeleteRequest": {"Key": key}}));
        let deletes: Vec<Value> = deletes.collect();
        let request = json!({"RequestItems": {table: deletes}});
        stack
            .aws
            .call("dynamodb", "batch_write_item", request)
            .await;
    }
}

/// What DynamoDB does not restore is set again.
async fn assert_set_up(stack: &Stack, table: &str) {
    let name = json!({"TableName": table});
    let expiry = stack
        .aws
        .call("dynamodb", "describe_time_to_live", name.clone())
        .await;
    assert_eq!(
        expiry["TimeToLiveDescription"]["TimeToLiveStatus"], "ENABLED",
        "{expiry}"
    );
    let backups = stack
        .aws
        .call("dynamodb", "describe_continuous_backups", name.clone())
        .await;
    let recovery = &backups["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"];
    assert_eq!(
        recovery["PointInTimeRecoveryStatus"], "ENABLED",
        "{backups}"
    );
    if table.contains("deliveries") {
        let described = stack.aws.call("dynamodb", "describe_table", name).await;
        let stream = &described["Table"]["StreamSpecification"];
        assert_eq!(
            stream["StreamViewType"], "NEW_AND_OLD_IMAGES",
            "{described}"
        );
    }
}
