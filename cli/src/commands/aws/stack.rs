//! The stack as CloudFormation describes it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::json::{self, at};
use super::tool::{AwsCall, AwsError, AwsTool};
use crate::failure::Failure;

const FUNCTION: &str = "AWS::Lambda::Function";
const QUEUE: &str = "AWS::SQS::Queue";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stack {
    pub(super) name: String,
    pub(super) status: String,
    pub(super) status_reason: Option<String>,
    pub(super) parameters: BTreeMap<String, String>,
    pub(super) outputs: BTreeMap<String, String>,
    pub(super) resources: Vec<Resource>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Resource {
    #[serde(rename = "LogicalResourceId")]
    pub(super) logical: String,
    #[serde(rename = "PhysicalResourceId", default)]
    pub(super) physical: String,
    #[serde(rename = "ResourceType")]
    pub(super) kind: String,
}

impl Stack {
    pub(super) async fn find(name: &str, tool: &AwsTool) -> Result<Self, Failure> {
        let describe = describe(name);
        let list =
            AwsCall::new("cloudformation", "list-stack-resources").option("--stack-name", name);
        let described = tool
            .run(&describe)
            .await
            .map_err(|error| missing(name, error))?;
        let listed = tool.run(&list).await?;
        Self::read(name, &described, &listed)
            .ok_or_else(|| AwsError::Unreadable("cloudformation describe-stacks".to_owned()).into())
    }

    fn read(name: &str, described: &Value, listed: &Value) -> Option<Self> {
        let stack = described.pointer("/Stacks/0")?;
        let resources = Vec::deserialize(at(listed, "/StackResourceSummaries")).ok()?;
        Some(Self {
            name: name.to_owned(),
            status: at(stack, "/StackStatus").as_str()?.to_owned(),
            status_reason: at(stack, "/StackStatusReason")
                .as_str()
                .map(ToOwned::to_owned),
            parameters: parameters(described),
            outputs: pairs(stack, "/Outputs", "OutputKey", "OutputValue"),
            resources,
        })
    }

    /// A parameter; `None` if it is empty or the template does not have it.
    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        let value = self.parameters.get(name).map(String::as_str);
        value.filter(|value| !value.is_empty())
    }

    pub(super) fn output(&self, name: &str) -> Result<&str, Failure> {
        let value = self.outputs.get(name).map(String::as_str);
        value.ok_or_else(|| {
            Failure::Input(format!(
                "the stack {} has no output {name}: it is not a stack of Postrider, or of an older version",
                self.name
            ))
        })
    }

    pub(super) fn resource(&self, logical: &str) -> Result<&Resource, Failure> {
        let mut resources = self.resources.iter();
        let found = resources.find(|resource| resource.logical == logical);
        found.ok_or_else(|| {
            Failure::Input(format!(
                "the stack {} has no resource {logical}: it is not a stack of Postrider, or of an older version",
                self.name
            ))
        })
    }

    pub(super) fn functions(&self) -> impl Iterator<Item = &Resource> {
        self.of_kind(FUNCTION)
    }

    pub(super) fn dead_letter_queues(&self) -> impl Iterator<Item = &Resource> {
        self.queues()
            .filter(|queue| queue.logical.ends_with("DeadLetters"))
    }

    pub(super) fn queues(&self) -> impl Iterator<Item = &Resource> {
        self.of_kind(QUEUE)
    }

    fn of_kind(&self, kind: &'static str) -> impl Iterator<Item = &Resource> {
        self.resources
            .iter()
            .filter(move |resource| resource.kind == kind && !resource.physical.is_empty())
    }
}

pub(super) fn describe(name: &str) -> AwsCall {
    AwsCall::new("cloudformation", "describe-stacks").option("--stack-name", name)
}

/// The parameters in the answer to [`describe`].
pub(super) fn parameters(described: &Value) -> BTreeMap<String, String> {
    let pointer = "/Stacks/0/Parameters";
    pairs(described, pointer, "ParameterKey", "ParameterValue")
}

fn missing(name: &str, error: AwsError) -> Failure {
    if error.is_not_found() {
        Failure::Input(format!(
            "there is no stack {name} in this account and region: set --stack, --region or --profile"
        ))
    } else {
        error.into()
    }
}

fn pairs(stack: &Value, pointer: &str, key: &str, value: &str) -> BTreeMap<String, String> {
    let pairs = json::list(stack, pointer);
    pairs
        .filter_map(|pair| {
            let (key, value) = (pair.get(key)?.as_str()?, pair.get(value)?.as_str()?);
            Some((key.to_owned(), value.to_owned()))
        })
        .collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use serde_json::json;

    /// A stack as the tool describes it, with these parameters.
    pub(in crate::commands::aws) fn sample(parameters: &[(&str, &str)]) -> Stack {
        let parameters = parameters
            .iter()
            .map(|(key, value)| json!({"ParameterKey": key, "ParameterValue": value}));
        let described = json!({"Stacks": [{
            "StackName": "postrider",
            "StackStatus": "UPDATE_COMPLETE",
            "Parameters": parameters.collect::<Vec<_>>(),
            "Outputs": [
                {"OutputKey": "DeliveriesTable", "OutputValue": "postrider-WebhookDeliveries-1"},
                {"OutputKey": "ConfigsTable", "OutputValue": "postrider-WebhookConfigs-1"},
            ],
        }]});
        let resource = |logical: &str, kind: &str, physical: &str| json!({"LogicalResourceId": logical, "ResourceType": kind, "PhysicalResourceId": physical});
        let listed = json!({"StackResourceSummaries": [
            resource("ApiFunction", FUNCTION, "postrider-api"),
            resource("PollerFunction", FUNCTION, "postrider-poller"),
            resource("PublisherFunction", FUNCTION, "postrider-publisher"),
            resource("HintQueue", QUEUE, "https://sqs/HintQueue"),
            resource("HintDeadLetters", QUEUE, "https://sqs/HintDeadLetters"),
            json!({"LogicalResourceId": "Alarms", "ResourceType": "AWS::CloudFormation::Stack",
                "PhysicalResourceId": "arn:aws:cloudformation:eu-central-1:123456789012:stack/postrider-Alarms-1A/x"}),
            json!({"LogicalResourceId": "Unmade", "ResourceType": FUNCTION}),
        ]});
        Stack::read("postrider", &described, &listed).unwrap()
    }

    #[test]
    fn a_stack_is_read_with_its_functions_and_dead_letter_queues() {
        let stack = sample(&[("MailFrom", ""), ("MaxConcurrency", "50")]);
        assert_eq!(stack.parameter("MailFrom"), None, "empty is not set");
        assert_eq!(stack.parameter("MaxConcurrency"), Some("50"));
        assert_eq!(
            stack.functions().count(),
            3,
            "without one that was never made"
        );
        let queues: Vec<_> = stack.dead_letter_queues().map(|it| &it.logical).collect();
        assert_eq!(queues, ["HintDeadLetters"]);
        let missing = stack.output("Nothing").unwrap_err().to_string();
        assert!(missing.contains("no output Nothing"), "{missing}");
    }
}
