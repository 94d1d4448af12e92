//! The tables: restorable, protected, expiring, and streamed to the publisher.

use serde_json::Value;

use super::super::json::at;
use super::super::stack::Stack;
use super::super::tool::{AwsCall, AwsError, AwsTool};
use super::unknown;
use crate::checks::Check;

/// What the tool says of a table.
struct Table {
    described: Value,
    backups: Value,
    expiry: Value,
}

pub(super) async fn check(stack: &Stack, tool: &AwsTool) -> Vec<Check> {
    let (deliveries, configs) = tokio::join!(
        one("deliveries", "DeliveriesTable", stack, tool),
        one("configs", "ConfigsTable", stack, tool),
    );
    [deliveries, configs].concat()
}

async fn one(
    name: &'static str,
    output: &'static str,
    stack: &Stack,
    tool: &AwsTool,
) -> Vec<Check> {
    let table = match stack.output(output) {
        Ok(table) => table,
        Err(failure) => return vec![Check::bad(name, failure.to_string(), "deploy again")],
    };
    match look(table, tool).await {
        Ok(looked) => judge(name, table, &looked),
        Err(error) => vec![unknown(name, &error)],
    }
}

async fn look(table: &str, tool: &AwsTool) -> Result<Table, AwsError> {
    let call = |operation| AwsCall::new("dynamodb", operation).option("--table-name", table);
    let (described, backups, expiry) = (
        call("describe-table"),
        call("describe-continuous-backups"),
        call("describe-time-to-live"),
    );
    let (described, backups, expiry) =
        tokio::join!(tool.run(&described), tool.run(&backups), tool.run(&expiry));
    Ok(Table {
        described: described?,
        backups: backups?,
        expiry: expiry?,
    })
}

fn judge(name: &'static str, table: &str, looked: &Table) -> Vec<Check> {
    let mut checks = Vec::new();
    let described = at(&looked.described, "/Table");
    let status = at(described, "/TableStatus").as_str().unwrap_or_default();
    if status != "ACTIVE" {
        let advice = "nothing works without the table; see it in the DynamoDB console";
        checks.push(Check::bad(name, format!("{table} is {status}"), advice));
    }
    let recovery = at(
        &looked.backups,
        "/ContinuousBackupsDescription/PointInTimeRecoveryDescription",
    );
    if at(recovery, "/PointInTimeRecoveryStatus") != "ENABLED" {
        checks.push(Check::bad(
            name,
            format!("{table} has no point-in-time recovery: it cannot be restored"),
            format!(
                "aws dynamodb update-continuous-backups --table-name {table} \
                 --point-in-time-recovery-specification PointInTimeRecoveryEnabled=true"
            ),
        ));
    }
    if at(&looked.expiry, "/TimeToLiveDescription/TimeToLiveStatus") != "ENABLED" {
        checks.push(Check::doubtful(
            name,
            format!("{table} does not expire old rows: it grows without limit"),
            format!(
                "aws dynamodb update-time-to-live --table-name {table} --time-to-live-specification \
                 Enabled=true,AttributeName=expires_at"
            ),
        ));
    }
    if name == "deliveries" && at(described, "/StreamSpecification/StreamEnabled") != true {
        checks.push(Check::bad(
            name,
            format!("{table} has no stream: health, stats and notifications stand still"),
            "deploy again",
        ));
    }
    if at(described, "/DeletionProtectionEnabled") != true {
        checks.push(Check::doubtful(
            name,
            format!("{table} is not protected against deletion"),
            "deploy with DeletionProtection=true, except for a stack to try things out",
        ));
    }
    if checks.is_empty() {
        checks.push(Check::good(
            name,
            format!("{table}: point-in-time recovery, deletion protection, expiry"),
        ));
    }
    checks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::Finding;
    use serde_json::json;

    fn sound() -> Table {
        let recovery = json!({"PointInTimeRecoveryStatus": "ENABLED"});
        Table {
            described: json!({"Table": {"TableStatus": "ACTIVE", "DeletionProtectionEnabled": true,
                "StreamSpecification": {"StreamEnabled": true}}}),
            backups: json!({"ContinuousBackupsDescription": {"PointInTimeRecoveryDescription": recovery}}),
            expiry: json!({"TimeToLiveDescription": {"TimeToLiveStatus": "ENABLED"}}),
        }
    }

    fn findings(looked: &Table) -> Vec<Finding> {
        let checks = judge("deliveries", "t", looked);
        checks.iter().map(|check| check.finding).collect()
    }

    #[test]
    fn a_table_that_cannot_be_restored_is_bad_and_an_unprotected_one_doubtful() {
        assert_eq!(findings(&sound()), [Finding::Good]);
        let mut table = sound();
        table.backups = json!({});
        assert_eq!(findings(&table), [Finding::Bad]);
        let mut table = sound();
        table.described["Table"]["DeletionProtectionEnabled"] = false.into();
        table.expiry = json!({"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}});
        assert_eq!(findings(&table), [Finding::Doubtful, Finding::Doubtful]);
    }

    #[test]
    fn only_the_deliveries_need_a_stream() {
        let mut table = sound();
        table.described["Table"]["StreamSpecification"] = Value::Null;
        assert_eq!(findings(&table), [Finding::Bad]);
        let checks = judge("configs", "t", &table);
        assert_eq!(checks[0].finding, Finding::Good);
    }
}
