//! `postrider aws` with the real `aws` tool and the deployed stack.

use serde_json::{Value, json};
use tokio::process::Command;

use super::emulator::{aws_tool_folder, repository, tool};
use super::queue;
use super::stack::Stack;
use crate::command;

/// The exit code and the JSON that `postrider aws …` prints.
pub(super) async fn postrider_aws(stack: &Stack, args: &[&str]) -> (i32, Value) {
    let path = format!(
        "{}:/usr/local/bin:/usr/bin:/bin",
        aws_tool_folder().display()
    );
    let ended = Command::new(command::binary())
        .args(["aws", "--json", "--stack", "postrider-dev"])
        .args(args)
        .env_clear()
        .env("PATH", path)
        .env("HOME", stack.emulator.folder.path())
        .envs(stack.emulator.credentials())
        .output()
        .await
        .unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    let printed = serde_json::from_slice(&ended.stdout);
    let printed = printed.unwrap_or_else(|_| panic!("{args:?}: {said}"));
    (ended.status.code().unwrap(), printed)
}

/// What a check found, by its name.
fn finding<'a>(checked: &'a Value, name: &str) -> &'a Value {
    let mut checks = checked["checks"].as_array().unwrap().iter();
    let found = checks.find(|check| check["name"] == name);
    &found.unwrap_or_else(|| panic!("{name} in {checked}"))["finding"]
}

pub(super) async fn a_check_of_the_stack_finds_what_is_wrong(stack: &Stack) {
    let built = stack.emulator.folder.path().join("build");
    let check = ["check", "--code", built.to_str().unwrap()];
    let (code, checked) = postrider_aws(stack, &check).await;
    for name in [
        "account",
        "stack",
        "functions",
        "code",
        "sources",
        "concurrency",
        "queues",
        "mail",
    ] {
        assert_eq!(finding(&checked, name), "good", "{name} in {checked}");
    }
    // The stack of the tests is not protected, and it has no address for alarms.
    assert_eq!(finding(&checked, "deliveries"), "doubtful", "{checked}");
    assert_eq!(finding(&checked, "alerts"), "doubtful", "{checked}");
    // The emulator has no Service Quotas: what cannot be checked does not fail.
    assert_eq!(finding(&checked, "dynamodb"), "unknown", "{checked}");
    assert_eq!(code, 0, "{checked}");

    let notifier = json!({"FunctionName": "postrider-dev-notifier"});
    let mut stop = notifier.clone();
    stop["ReservedConcurrentExecutions"] = 0.into();
    stack
        .aws
        .call("lambda", "put_function_concurrency", stop)
        .await;
    let (code, checked) = postrider_aws(stack, &check).await;
    stack
        .aws
        .call("lambda", "delete_function_concurrency", notifier)
        .await;
    assert_eq!(finding(&checked, "functions"), "bad", "{checked}");
    assert_eq!(code, 1, "{checked}");
}

/// The check that operators run in their account: copies of the roles, and calls that they allow and deny.
pub(super) async fn roles_are_limited_to_their_rows(stack: &Stack) {
    let ended = tool("python")
        .arg(repository().join("tools/aws/verify"))
        .args(["--stack", "postrider-dev", "--only", "roles", "--yes"])
        .env("HOME", stack.emulator.folder.path())
        .envs(stack.emulator.credentials())
        .output()
        .await
        .unwrap();
    let printed = String::from_utf8_lossy(&ended.stdout);
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{printed}{said}");
    assert!(printed.contains("pass  roles"), "{printed}");
}

pub(super) async fn the_costs_of_the_stack_are_listed(stack: &Stack) {
    let (code, costs) = postrider_aws(stack, &["costs", "--days", "1"]).await;
    assert_eq!(code, 0, "{costs}");
    let month = costs["month"].as_array().unwrap();
    let dollars = |item: &str| {
        let found = month.iter().find(|line| line["item"] == item);
        found.unwrap_or_else(|| panic!("{item} in {costs}"))["dollars"].clone()
    };
    assert_eq!(dollars("KMS keys"), 1.0, "{costs}");
    assert_eq!(dollars("Dashboards"), 3.0, "{costs}");
    assert!(dollars("Alarms").as_f64().unwrap() > 1.0, "{costs}");
}

/// A batch as Lambda stores it in the bucket, for this function.
fn failed_batch(function: &str) -> String {
    let event: Value =
        serde_json::from_str(include_str!("../../infra/events/publisher.json")).unwrap();
    json!({
        "requestContext": {
            "functionArn": format!("arn:aws:lambda:us-east-1:000000000000:function:{function}"),
            "condition": "RetryAttemptsExhausted",
        },
        "version": "1.0",
        "DDBStreamBatchInfo": {"shardId": "shardId-1"},
        "payload": event.to_string(),
    })
    .to_string()
}

pub(super) async fn failed_stream_records_are_processed_again(stack: &Stack) {
    let bucket = "failed-records";
    let create = json!({"Bucket": bucket});
    stack.aws.call("s3", "create_bucket", create).await;
    for (key, function) in [
        ("aws/lambda/1", "postrider-dev-publisher"),
        ("aws/lambda/2", "of-another-stack"),
    ] {
        let put = json!({"Bucket": bucket, "Key": key, "Body": failed_batch(function)});
        stack.aws.call("s3", "put_object", put).await;
    }
    let announced = queue::subscribe(stack, "redriven", json!({})).await;
    let redrive = ["redrive", "--bucket", bucket];

    let preview = [&redrive[..], &["--dry-run"]].concat();
    let (code, listed) = postrider_aws(stack, &preview).await;
    assert_eq!(
        (code, &listed["objects"]),
        (0, &json!(["aws/lambda/1", "aws/lambda/2"]))
    );

    let (code, redriven) = postrider_aws(stack, &redrive).await;
    assert_eq!(redriven["objects"], 1, "{redriven}");
    assert_eq!(redriven["failed"][0]["key"], "aws/lambda/2", "{redriven}");
    assert_eq!(code, 1, "one object failed");
    let sent = queue::receive(stack, &announced).await;
    assert!(sent.contains("dlv_agniwlcnlz7wbamsuo2mlvxh7e"), "{sent}");
    let (_, listed) = postrider_aws(stack, &preview).await;
    assert_eq!(listed["objects"], json!(["aws/lambda/2"]), "{listed}");
}
