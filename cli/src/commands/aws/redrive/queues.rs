//! Dead-letter queues, and the way of their messages back.

use std::time::Duration;

use futures_util::future::try_join_all;
use serde::Serialize;
use serde_json::Value;

use super::super::json::at;
use super::super::stack::{Resource, Stack};
use super::super::tool::{AwsCall, AwsError, AwsTool};
use crate::edge;

const POLL_EVERY: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(in crate::commands::aws) struct DeadLetters {
    /// The name in the template.
    pub(in crate::commands::aws) name: String,
    pub(in crate::commands::aws) arn: String,
    pub(in crate::commands::aws) messages: u64,
}

pub(in crate::commands::aws) async fn look(
    queue: &Resource,
    tool: &AwsTool,
) -> Result<DeadLetters, AwsError> {
    let get = AwsCall::new("sqs", "get-queue-attributes")
        .option("--queue-url", &queue.physical)
        .option("--attribute-names", "QueueArn")
        .value("ApproximateNumberOfMessages");
    let answer = tool.run(&get).await?;
    let attributes = at(&answer, "/Attributes");
    let attribute = |name: &str| {
        let value = attributes.get(name).and_then(Value::as_str);
        value.unwrap_or_default()
    };
    Ok(DeadLetters {
        name: queue.logical.clone(),
        arn: attribute("QueueArn").to_owned(),
        messages: attribute("ApproximateNumberOfMessages")
            .parse()
            .unwrap_or(0),
    })
}

/// The dead-letter queues with messages.
pub(super) async fn filled(stack: &Stack, tool: &AwsTool) -> Result<Vec<DeadLetters>, AwsError> {
    let looks = stack.dead_letter_queues().map(|queue| look(queue, tool));
    let mut queues = try_join_all(looks).await?;
    queues.retain(|queue| queue.messages > 0);
    Ok(queues)
}

/// Moves the messages to the queue they came from; returns how many.
pub(super) async fn move_back(queue: &DeadLetters, tool: &AwsTool) -> Result<u64, AwsError> {
    let start = AwsCall::new("sqs", "start-message-move-task").option("--source-arn", &queue.arn);
    tool.run(&start).await?;
    let list = AwsCall::new("sqs", "list-message-move-tasks").option("--source-arn", &queue.arn);
    loop {
        let listed = tool.run(&list).await?;
        match progress(&listed, queue)? {
            Progress::Running => edge::pause(POLL_EVERY).await,
            Progress::Ended(moved) => return Ok(moved),
        }
    }
}

/// Empties the queue that names the objects in the bucket, which are gone now: its alarm ends.
pub(super) async fn forget_objects(stack: &Stack, tool: &AwsTool) -> Result<(), AwsError> {
    for queue in stack
        .queues()
        .filter(|queue| queue.logical == "FailedChangesSeen")
    {
        let purge = AwsCall::new("sqs", "purge-queue").option("--queue-url", &queue.physical);
        tool.run(&purge).await?;
    }
    Ok(())
}

#[derive(Debug, PartialEq, Eq)]
enum Progress {
    Running,
    Ended(u64),
}

fn progress(listed: &Value, queue: &DeadLetters) -> Result<Progress, AwsError> {
    // The latest task comes first.
    let task = at(listed, "/Results/0");
    match at(task, "/Status").as_str() {
        Some("RUNNING") => Ok(Progress::Running),
        Some("FAILED") => Err(AwsError::Rejected {
            call: "sqs start-message-move-task".to_owned(),
            code: String::new(),
            detail: format!(
                "{}: {}",
                queue.name,
                at(task, "/FailureReason")
                    .as_str()
                    .unwrap_or("no reason given")
            ),
        }),
        Some(_) | None => Ok(Progress::Ended(
            at(task, "/ApproximateNumberOfMessagesMoved")
                .as_u64()
                .unwrap_or(queue.messages),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_move_is_followed_to_its_end() {
        let queue = DeadLetters {
            name: "MailDeadLetters".to_owned(),
            arn: "arn".to_owned(),
            messages: 3,
        };
        let task = |task: Value| progress(&json!({"Results": [task]}), &queue);
        assert_eq!(task(json!({"Status": "RUNNING"})), Ok(Progress::Running));
        let done = json!({"Status": "COMPLETED", "ApproximateNumberOfMessagesMoved": 2});
        assert_eq!(task(done), Ok(Progress::Ended(2)));
        let failed = json!({"Status": "FAILED", "FailureReason": "CouldNotDetermineMessageSource"});
        let error = task(failed).unwrap_err().to_string();
        assert!(error.contains("MailDeadLetters"), "{error}");
    }
}
