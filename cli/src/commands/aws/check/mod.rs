//! `postrider aws check`: whether the deployed stack can do its work, and whether someone would hear if not.

mod alarms;
mod built;
mod functions;
mod limits;
mod mail;
mod queues;
mod sources;
mod tables;

use std::path::PathBuf;

use clap::Args;
use serde_json::Value;

use super::json::at;
use super::stack::Stack;
use super::tool::{AwsCall, AwsError, AwsTool};
use crate::checks::{self, Check};
use crate::failure::{Ending, Failure};
use crate::output::Output;

const AFTER_HELP: &str = "\
Examples:
  postrider aws check
  postrider aws check --stack postrider-dev --json

Exit code 1 if a check fails. A check that needs a permission you do not have is shown as unknown and
does not fail.";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct CheckArgs {
    /// Output of `sam build`, to compare its architecture with the deployed one [default: .aws-sam/build, if it exists]
    #[arg(long, value_name = "DIR")]
    code: Option<PathBuf>,
}

pub(super) async fn run(
    args: CheckArgs,
    name: &str,
    tool: &AwsTool,
    out: Output,
) -> Result<Ending, Failure> {
    let identity = tool
        .run(&AwsCall::new("sts", "get-caller-identity"))
        .await?;
    let stack = Stack::find(name, tool).await?;
    let built = built::in_folder(args.code, &stack)?;
    let (functions, limits, sources, tables, alarms, queues, mail) = tokio::join!(
        functions::check(&stack, &built, tool),
        limits::check(&stack, tool),
        sources::check(&stack, tool),
        tables::check(&stack, tool),
        alarms::check(&stack, tool),
        queues::check(&stack, tool),
        mail::check(&stack, tool),
    );
    let first = vec![account(&identity), state(&stack)];
    let all = [
        first, functions, limits, sources, tables, alarms, queues, mail,
    ];
    checks::report(&all.concat(), out)
}

fn account(identity: &Value) -> Check {
    let caller = at(identity, "/Arn").as_str().unwrap_or("someone unnamed");
    Check::good("account", format!("you are {caller}"))
}

fn state(stack: &Stack) -> Check {
    let reason = stack.status_reason.as_deref().unwrap_or_default();
    let detail = format!("{} is {} {reason}", stack.name, stack.status);
    match stack.status.as_str() {
        "CREATE_COMPLETE" | "UPDATE_COMPLETE" | "IMPORT_COMPLETE" => Check::good("stack", detail),
        status if status.ends_with("_IN_PROGRESS") => {
            Check::doubtful("stack", detail, "wait until the deployment has ended")
        }
        "UPDATE_ROLLBACK_COMPLETE" => Check::doubtful(
            "stack",
            detail,
            "the last deployment was rolled back; see its events in CloudFormation",
        ),
        _ => Check::bad(
            "stack",
            detail,
            "see the stack's events in CloudFormation, and deploy again",
        ),
    }
}

/// The result of a call, or the check that it makes impossible.
fn known(name: &'static str, result: Result<Value, AwsError>) -> Result<Value, Check> {
    result.map_err(|error| unknown(name, &error))
}

fn unknown(name: &'static str, error: &AwsError) -> Check {
    let detail = match error {
        AwsError::Denied { permission, .. } => {
            format!("not checked: the permission {permission} is missing")
        }
        AwsError::Missing
        | AwsError::NotRun(_)
        | AwsError::TooOld(_)
        | AwsError::NotLoggedIn(_)
        | AwsError::NoRegion
        | AwsError::Rejected { .. }
        | AwsError::Unreadable(_) => format!("not checked: {error}"),
    };
    Check::unknown(name, detail)
}

#[cfg(test)]
mod tests {
    use super::super::stack::tests::sample;
    use super::*;
    use crate::checks::Finding;

    #[test]
    fn a_stack_that_is_being_changed_is_doubtful_and_one_that_failed_is_bad() {
        let finding = |status: &str| {
            let mut stack = sample(&[]);
            status.clone_into(&mut stack.status);
            state(&stack).finding
        };
        assert_eq!(finding("UPDATE_COMPLETE"), Finding::Good);
        assert_eq!(finding("UPDATE_IN_PROGRESS"), Finding::Doubtful);
        assert_eq!(finding("UPDATE_ROLLBACK_COMPLETE"), Finding::Doubtful);
        assert_eq!(finding("UPDATE_ROLLBACK_FAILED"), Finding::Bad);
        assert_eq!(finding("ROLLBACK_COMPLETE"), Finding::Bad);
    }

    #[test]
    fn a_missing_permission_makes_a_check_unknown_and_is_named() {
        let error = AwsError::Denied {
            permission: "ses:GetAccount".to_owned(),
            detail: String::new(),
        };
        let check = known("mail", Err(error)).unwrap_err();
        assert_eq!(check.finding, Finding::Unknown);
        assert!(check.detail.contains("ses:GetAccount"), "{}", check.detail);
    }
}
