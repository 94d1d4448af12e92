//! `postrider aws`: operates the stack of `template.yaml` through the `aws` command-line tool.

mod check;
mod costs;
mod functions;
mod json;
mod redrive;
mod restore;
mod stack;
mod sweep;
mod tool;

use clap::{Args, Subcommand};

pub(crate) use self::tool::AwsError;
use self::tool::{AwsTool, ToolArgs};
use crate::failure::{Ending, Failure};
use crate::output::Output;

const AFTER_HELP: &str = "\
Examples:
  postrider aws check
  postrider aws check --stack postrider-dev --profile dev --region eu-central-1
  postrider aws costs --days 30
  postrider aws redrive --dry-run
  postrider aws sweep --from 2026-11-16T00:00:00Z --to 2026-11-17T00:00:00Z
  postrider aws restore --to 2026-11-17T02:55:00Z --print

Needs the `aws` command-line tool, version 2 or 1.29 and later, and uses its credentials, profiles and
single sign-on. The permissions that each command needs are listed in docs/operations.md.";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct AwsArgs {
    #[command(flatten)]
    target: TargetArgs,

    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "AWS")]
struct TargetArgs {
    /// Name of the CloudFormation stack
    #[arg(
        long,
        global = true,
        env = "POSTRIDER_STACK",
        default_value = "postrider"
    )]
    stack: String,

    #[command(flatten)]
    tool: ToolArgs,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Check the stack: functions, limits, event sources, tables, alarms, e-mail
    Check(check::CheckArgs),
    /// Show what the stack costs, from the usage that AWS reports
    Costs(costs::CostsArgs),
    /// Process again what failed: stream records in S3, and messages in dead-letter queues
    Redrive(redrive::RedriveArgs),
    /// Find open deliveries that no queue message and no index entry leads to
    Sweep(sweep::SweepArgs),
    /// Restore both tables to a point in time, step by step
    Restore(restore::RestoreArgs),
}

pub(crate) async fn run(args: AwsArgs, out: Output) -> Result<Ending, Failure> {
    let TargetArgs { stack, tool } = args.target;
    let tool = AwsTool::new(tool);
    match args.action {
        Action::Check(args) => check::run(args, &stack, &tool, out).await,
        Action::Costs(args) => costs::run(args, &stack, &tool, out).await,
        Action::Redrive(args) => redrive::run(args, &stack, &tool, out).await,
        Action::Sweep(args) => sweep::run(args, &stack, &tool, out).await,
        Action::Restore(args) => restore::run(args, &stack, &tool, out).await,
    }
}
