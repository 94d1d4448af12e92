//! The steps of a restore, as calls.

use postrider_domain::time::{Millis, Timestamp};
use serde_json::Value;

use super::super::functions::{Deployed, RESERVED_TAG};
use super::super::json::{at, list};
use super::super::stack::Stack;
use super::super::sweep::Period;
use super::super::tool::AwsCall;
use super::names::{Restored, Table};
use crate::failure::Failure;

/// The parameters of the template that name the tables.
pub(super) const DELIVERIES_TABLE: &str = "DeliveriesTableArn";
pub(super) const DELIVERIES_STREAM: &str = "DeliveriesStreamArn";
pub(super) const CONFIGS_TABLE: &str = "ConfigsTableArn";
/// An open row may have no index entry until its record in the stream, which keeps records for a day, was read.
const STREAM_KEEPS: Millis = Millis::from_seconds(25 * 3600);

pub(super) struct Plan {
    pub(super) stack: String,
    pub(super) at: Timestamp,
    pub(super) restored: Restored,
    pub(super) functions: Vec<Deployed>,
    parameters: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Stop,
    Restore,
    SetUp,
    Switch,
    Start,
    Sweep,
}

impl Step {
    pub(super) const ALL: [Self; 6] = [
        Self::Stop,
        Self::Restore,
        Self::SetUp,
        Self::Switch,
        Self::Start,
        Self::Sweep,
    ];

    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Stop => {
                "Stop the functions. The API answers with an error until they are started again"
            }
            Self::Restore => {
                "Restore both tables into new ones. This takes from 20 minutes to several hours"
            }
            Self::SetUp => {
                "Set up the new tables: stream, expiry, point-in-time recovery, deletion protection, tags"
            }
            Self::Switch => "Switch the stack to the new tables",
            Self::Start => "Start the functions",
            Self::Sweep => "Sweep: find open deliveries without an index entry",
        }
    }
}

impl Plan {
    pub(super) fn new(
        stack: &Stack,
        functions: Vec<Deployed>,
        at: Timestamp,
    ) -> Result<Self, Failure> {
        for name in [DELIVERIES_TABLE, DELIVERIES_STREAM, CONFIGS_TABLE] {
            if !stack.parameters.contains_key(name) {
                return Err(Failure::Input(format!(
                    "the stack {} has no parameter {name}: deploy this version of the template first",
                    stack.name
                )));
            }
        }
        Ok(Self {
            stack: stack.name.clone(),
            at,
            restored: Restored::new(stack, at)?,
            functions,
            parameters: stack.parameters.keys().cloned().collect(),
        })
    }

    /// The calls that stop a function. The tag keeps its reserved concurrency for [`Self::start`].
    pub(super) fn stop(function: &Deployed) -> Vec<AwsCall> {
        let remember = function
            .reserved
            .filter(|reserved| *reserved > 0)
            .map(|reserved| {
                AwsCall::new("lambda", "tag-resource")
                    .option("--resource", &function.arn)
                    .option("--tags", format!("{RESERVED_TAG}={reserved}"))
            });
        let stop = reserve(function, 0);
        remember.into_iter().chain([stop]).collect()
    }

    pub(super) fn start(function: &Deployed) -> Vec<AwsCall> {
        // At the time of the plan, a function that was not stopped yet has its own value.
        let own = function.reserved.filter(|reserved| *reserved > 0);
        match function.remembered.or(own) {
            Some(reserved) => vec![
                reserve(function, reserved),
                AwsCall::new("lambda", "untag-resource")
                    .option("--resource", &function.arn)
                    .option("--tag-keys", RESERVED_TAG),
            ],
            None => vec![
                AwsCall::new("lambda", "delete-function-concurrency")
                    .option("--function-name", &function.name),
            ],
        }
    }

    pub(super) fn restore(&self, table: &Table) -> AwsCall {
        AwsCall::new("dynamodb", "restore-table-to-point-in-time")
            .option("--source-table-name", &table.source)
            .option("--target-table-name", &table.target)
            .option("--restore-date-time", self.at.to_string())
    }

    pub(super) fn switch(&self, tables: &TableArns) -> AwsCall {
        let parameters = self.parameters.iter().map(|name| {
            let value = match name.as_str() {
                DELIVERIES_TABLE => &tables.deliveries,
                DELIVERIES_STREAM => &tables.stream,
                CONFIGS_TABLE => &tables.configs,
                _ => return format!("ParameterKey={name},UsePreviousValue=true"),
            };
            format!("ParameterKey={name},ParameterValue={value}")
        });
        AwsCall::new("cloudformation", "update-stack")
            .option("--stack-name", &self.stack)
            .value("--use-previous-template")
            .option("--capabilities", "CAPABILITY_IAM")
            .value("CAPABILITY_AUTO_EXPAND")
            .value("--parameters")
            .values(parameters)
    }

    pub(super) fn period(&self) -> Period {
        Period {
            from: self.at.minus(STREAM_KEEPS),
            // The clock of the function that accepted a row may have been ahead.
            to: self.at.plus(Millis::from_seconds(60)),
        }
    }
}

fn reserve(function: &Deployed, executions: u64) -> AwsCall {
    AwsCall::new("lambda", "put-function-concurrency")
        .option("--function-name", &function.name)
        .option("--reserved-concurrent-executions", executions.to_string())
}

/// What the stack's parameters become.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TableArns {
    pub(super) deliveries: String,
    pub(super) stream: String,
    pub(super) configs: String,
}

pub(super) fn describe(table: &str) -> AwsCall {
    AwsCall::new("dynamodb", "describe-table").option("--table-name", table)
}

/// DynamoDB does not restore these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Setting {
    Stream,
    Expiry,
    Recovery,
    Protection,
}

impl Setting {
    pub(super) fn of_deliveries() -> [Self; 4] {
        // Protected first: nothing should delete what was just restored.
        [Self::Protection, Self::Stream, Self::Expiry, Self::Recovery]
    }

    pub(super) fn of_configs() -> [Self; 3] {
        [Self::Protection, Self::Expiry, Self::Recovery]
    }

    pub(super) fn set(self, table: &str) -> AwsCall {
        let call = |operation| AwsCall::new("dynamodb", operation).option("--table-name", table);
        match self {
            Self::Stream => call("update-table").option(
                "--stream-specification",
                "StreamEnabled=true,StreamViewType=NEW_AND_OLD_IMAGES",
            ),
            Self::Expiry => call("update-time-to-live").option(
                "--time-to-live-specification",
                "Enabled=true,AttributeName=expires_at",
            ),
            Self::Recovery => call("update-continuous-backups").option(
                "--point-in-time-recovery-specification",
                "PointInTimeRecoveryEnabled=true",
            ),
            Self::Protection => call("update-table").value("--deletion-protection-enabled"),
        }
    }

    /// The call that says whether it is set.
    pub(super) fn look(self, table: &str) -> AwsCall {
        let call = |operation| AwsCall::new("dynamodb", operation).option("--table-name", table);
        match self {
            Self::Stream | Self::Protection => call("describe-table"),
            Self::Expiry => call("describe-time-to-live"),
            Self::Recovery => call("describe-continuous-backups"),
        }
    }

    /// Whether it is set, in the answer to [`Self::look`].
    pub(super) fn is_set(self, answer: &Value) -> bool {
        match self {
            Self::Stream => at(answer, "/Table/StreamSpecification/StreamEnabled") == true,
            Self::Protection => at(answer, "/Table/DeletionProtectionEnabled") == true,
            Self::Expiry => {
                let status = at(answer, "/TimeToLiveDescription/TimeToLiveStatus");
                status == "ENABLED" || status == "ENABLING"
            }
            Self::Recovery => {
                let recovery = at(
                    answer,
                    "/ContinuousBackupsDescription/PointInTimeRecoveryDescription",
                );
                at(recovery, "/PointInTimeRecoveryStatus") == "ENABLED"
            }
        }
    }
}

/// The call that gives the table these tags; `None` if there are none to give. Those of AWS itself cannot be set.
pub(super) fn tag(arn: &str, listed: &Value) -> Option<AwsCall> {
    let tags = list(listed, "/Tags");
    let tags: Vec<String> = tags
        .filter_map(|tag| Some((at(tag, "/Key").as_str()?, at(tag, "/Value").as_str()?)))
        .filter(|(key, _)| !key.starts_with("aws:"))
        .map(|(key, value)| serde_json::json!({"Key": key, "Value": value}).to_string())
        .collect();
    (!tags.is_empty()).then(|| {
        AwsCall::new("dynamodb", "tag-resource")
            .option("--resource-arn", arn)
            .option("--tags", format!("[{}]", tags.join(",")))
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::super::stack::tests::sample;
    use super::super::super::tool::AwsTool;
    use super::*;
    use serde_json::json;

    /// A stack with two functions, of which one has a reserved concurrency.
    pub(in crate::commands::aws::restore) fn plan() -> Plan {
        let stack = sample(&[
            ("MaxConcurrency", "50"),
            (DELIVERIES_TABLE, ""),
            (DELIVERIES_STREAM, ""),
            (CONFIGS_TABLE, ""),
        ]);
        let functions = stack.functions().take(2).enumerate();
        let functions = functions.map(|(n, function)| {
            let mut answer =
                json!({"Configuration": {"FunctionArn": format!("arn:{}", function.physical)}});
            if n == 1 {
                answer["Concurrency"]["ReservedConcurrentExecutions"] = 1.into();
            }
            Deployed::read(function, &answer)
        });
        let functions = functions.collect();
        let at = Timestamp::parse_rfc3339("2026-11-17T02:55:00Z").unwrap();
        Plan::new(&stack, functions, at).unwrap()
    }

    fn lines(calls: &[AwsCall]) -> Vec<String> {
        let tool = AwsTool::plain();
        calls.iter().map(|call| tool.line(call)).collect()
    }

    #[test]
    fn a_reserved_concurrency_is_kept_while_its_function_is_stopped() {
        let plan = plan();
        let [api, poller] = &plan.functions[..] else {
            panic!("two functions");
        };
        assert_eq!(lines(&Plan::stop(api)).len(), 1);
        assert!(lines(&Plan::start(api))[0].contains("delete-function-concurrency"));
        let stop = lines(&Plan::stop(poller));
        assert!(
            stop[0].contains("tag-resource") && stop[0].contains("concurrency=1"),
            "{stop:?}"
        );
        assert!(
            stop[1].ends_with("--reserved-concurrent-executions 0"),
            "{stop:?}"
        );
        let mut stopped = poller.clone();
        (stopped.reserved, stopped.remembered) = (Some(0), Some(1));
        let start = lines(&Plan::start(&stopped));
        assert!(
            start[0].ends_with("--reserved-concurrent-executions 1"),
            "{start:?}"
        );
        assert!(start[1].contains("untag-resource"), "{start:?}");
    }

    #[test]
    fn the_switch_changes_the_tables_and_keeps_every_other_parameter() {
        let tables = TableArns {
            deliveries: "arn:d".to_owned(),
            stream: "arn:d/stream/1".to_owned(),
            configs: "arn:c".to_owned(),
        };
        let switch = lines(&[plan().switch(&tables)]).remove(0);
        for part in [
            "--use-previous-template",
            "ParameterKey=MaxConcurrency,UsePreviousValue=true",
            "ParameterKey=DeliveriesTableArn,ParameterValue=arn:d ",
            "ParameterKey=DeliveriesStreamArn,ParameterValue=arn:d/stream/1",
            "ParameterKey=ConfigsTableArn,ParameterValue=arn:c",
        ] {
            assert!(switch.contains(part), "{part} in {switch}");
        }
    }

    #[test]
    fn a_stack_of_an_older_template_is_refused() {
        let at = Timestamp::ZERO;
        let old = sample(&[("MaxConcurrency", "50")]);
        let refused = Plan::new(&old, Vec::new(), at).err().unwrap().to_string();
        assert!(refused.contains(DELIVERIES_TABLE), "{refused}");
    }

    #[test]
    fn what_is_set_already_is_recognised() {
        let described = json!({"Table": {"StreamSpecification": {"StreamEnabled": true},
            "DeletionProtectionEnabled": false}});
        assert!(Setting::Stream.is_set(&described));
        assert!(!Setting::Protection.is_set(&described));
        let expiry = json!({"TimeToLiveDescription": {"TimeToLiveStatus": "ENABLING"}});
        assert!(Setting::Expiry.is_set(&expiry));
        assert!(!Setting::Recovery.is_set(&json!({})));
    }

    #[test]
    fn the_tags_of_aws_itself_are_not_copied() {
        let listed = json!({"Tags": [{"Key": "aws:cloudformation:stack-name", "Value": "postrider"},
            {"Key": "cost center", "Value": "it's 7"}]});
        let call = tag("arn:d", &listed).unwrap();
        let line = lines(&[call]).remove(0);
        assert!(
            line.contains("cost center") && !line.contains("aws:cloudformation"),
            "{line}"
        );
        assert_eq!(tag("arn:d", &json!({"Tags": []})), None);
    }
}
