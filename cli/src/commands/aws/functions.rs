//! The functions of the stack as Lambda describes them.

use futures_util::future::try_join_all;
use serde_json::Value;

use super::json::at;
use super::stack::{Resource, Stack};
use super::tool::{AwsCall, AwsError, AwsTool};

/// Holds the reserved concurrency of a function while a restore has stopped it.
pub(super) const RESERVED_TAG: &str = "postrider:reserved-concurrency";

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Deployed {
    /// The name in the template.
    pub(super) logical: String,
    pub(super) name: String,
    pub(super) arn: String,
    pub(super) architecture: String,
    pub(super) memory_mb: f64,
    pub(super) state: String,
    pub(super) reason: String,
    /// 0 if it is stopped.
    pub(super) reserved: Option<u64>,
    /// What the tag says.
    pub(super) remembered: Option<u64>,
}

impl Deployed {
    pub(super) fn read(function: &Resource, answer: &Value) -> Self {
        let settings = at(answer, "/Configuration");
        let text = |name: &str| {
            let value = settings.get(name).and_then(Value::as_str);
            value.unwrap_or_default().to_owned()
        };
        let architecture = at(settings, "/Architectures/0")
            .as_str()
            .unwrap_or("x86_64");
        let tag = at(answer, "/Tags").get(RESERVED_TAG);
        let tag = tag.and_then(Value::as_str);
        Self {
            logical: function.logical.clone(),
            name: function.physical.clone(),
            arn: text("FunctionArn"),
            architecture: architecture.to_owned(),
            memory_mb: at(settings, "/MemorySize").as_f64().unwrap_or(128.0),
            state: text("State"),
            reason: text("StateReason"),
            reserved: at(answer, "/Concurrency/ReservedConcurrentExecutions").as_u64(),
            remembered: tag.and_then(|tag| tag.parse().ok()),
        }
    }
}

pub(super) async fn all(stack: &Stack, tool: &AwsTool) -> Result<Vec<Deployed>, AwsError> {
    try_join_all(stack.functions().map(|function| async move {
        let get =
            AwsCall::new("lambda", "get-function").option("--function-name", &function.physical);
        Ok(Deployed::read(function, &tool.run(&get).await?))
    }))
    .await
}
