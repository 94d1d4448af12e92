//! `postrider retry`: requeue deliveries.

mod bulk;
mod listing;
mod settle;
mod watch;

use clap::{Args, Subcommand};
use postrider_api_types::delivery::{DeliveryView, RetryNow};
use postrider_api_types::event::DeliveryAnswer;
use postrider_api_types::problem::Code;
use postrider_domain::delivery::Status;

use self::bulk::BulkArgs;
use super::filter::FilterArgs;
use super::follow::{WaitArgs, show_retried};
use crate::client::{Answer, Client};
use crate::failure::{Ending, Failure};
use crate::output::Output;

const USAGE: &str = "\
postrider retry [OPTIONS] <ID>
       postrider retry [OPTIONS] <--dead|--failed>
       postrider retry [OPTIONS] <status|cancel> <JOB>";

const AFTER_HELP: &str = "\
Examples:
  postrider retry dlv_… --wait
  postrider retry --dead --webhook wh_… --since 24h --dry-run
  postrider retry --dead --webhook wh_… --since 24h
  postrider retry --dead --type 'task.completed' --since 24h --until 1h --yes --wait --timeout 10m
  postrider retry status job_…
  postrider retry cancel job_…

A bulk retry asks for confirmation; --yes skips it and is required without a terminal. It is a job of the \
gateway: Ctrl-C stops watching, not the job.

Exit codes:
    0  requeued; with --wait, all were delivered
    1  some were not requeued, or you declined; with --wait, one is dead again or still open
  130  stopped watching with Ctrl-C";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP, override_usage = USAGE, subcommand_negates_reqs = true)]
pub(crate) struct RetryArgs {
    #[command(subcommand)]
    job: Option<JobAction>,

    /// Id of the delivery to retry, dlv_…
    #[arg(required_unless_present_any = ["dead", "failed"], conflicts_with_all = ["dead", "failed"])]
    id: Option<String>,

    /// Retry it even if it was delivered
    #[arg(long, requires = "id")]
    force: bool,

    /// Retry all dead deliveries that match the filter
    #[arg(long, conflicts_with = "failed")]
    dead: bool,

    /// Retry all failed deliveries that match the filter, without waiting for their next attempt
    #[arg(long)]
    failed: bool,

    /// Only count the deliveries and show some of them
    #[arg(long, conflicts_with = "id")]
    dry_run: bool,

    /// Start without confirmation
    #[arg(long, short, conflicts_with = "id")]
    yes: bool,

    #[command(flatten)]
    wait: WaitArgs,

    #[command(flatten)]
    filter: FilterArgs,
}

#[derive(Debug, Subcommand)]
enum JobAction {
    /// Show the progress of a bulk retry
    Status {
        /// Job id, job_…
        #[arg(value_name = "JOB")]
        id: String,
    },
    /// Cancel a bulk retry (deliveries already requeued are not undone)
    Cancel {
        /// Job id, job_…
        #[arg(value_name = "JOB")]
        id: String,
    },
}

impl RetryArgs {
    /// Whether options select deliveries, which `status` and `cancel` do not take. Clap could check this, but would then
    /// also reject `--json` and the like in the same position.
    fn selects(&self) -> bool {
        self.id.is_some()
            || self.force
            || self.dead
            || self.failed
            || self.dry_run
            || self.yes
            || self.wait.wait
            || self.filter.any()
    }
}

pub(crate) async fn run(args: RetryArgs, client: &Client, out: Output) -> Result<Ending, Failure> {
    if args.job.is_some() && args.selects() {
        return Err(Failure::Input(
            "status and cancel take only a job id".to_owned(),
        ));
    }
    if args.dry_run && args.wait.wait {
        return Err(Failure::Input(
            "--dry-run requeues nothing, so it cannot be combined with --wait".to_owned(),
        ));
    }
    match (args.job, args.id) {
        (Some(JobAction::Status { id }), _) => {
            let answer = client.get(&["v1", "retries", &id]).await?;
            watch::show(&answer, out)
        }
        (Some(JobAction::Cancel { id }), _) => {
            let answer = client.delete(&["v1", "retries", &id]).await?;
            watch::show(&answer, out).map(|_| Ending::Fine)
        }
        (None, Some(id)) => {
            let answer = one(&id, args.force, client).await?;
            if args.wait.wait {
                let delivery: DeliveryView = answer.read()?;
                let planned = DeliveryAnswer {
                    id: delivery.id,
                    webhook_id: delivery.webhook_id,
                };
                return show_retried(client, planned, &args.wait, out).await;
            }
            show_one(&answer, out)
        }
        (None, None) => {
            let status = if args.dead {
                Status::Dead
            } else {
                Status::Failed
            };
            bulk::run(
                BulkArgs {
                    status,
                    dry_run: args.dry_run,
                    yes: args.yes,
                    wait: args.wait,
                    filter: args.filter,
                },
                client,
                out,
            )
            .await
        }
    }
}

async fn one(id: &str, force: bool, client: &Client) -> Result<Answer, Failure> {
    let path = ["v1", "deliveries", id, "retry"];
    let answer = client.post(&path, &RetryNow { force }).await;
    answer.map_err(|failure| advise(failure, id))
}

fn show_one(answer: &Answer, out: Output) -> Result<Ending, Failure> {
    if out.wants_json() {
        out.document(&answer.text)?;
    } else {
        let delivery: DeliveryView = answer.read()?;
        if delivery.is_on_hold() {
            let (id, webhook) = (&delivery.id, &delivery.webhook_id);
            out.line(format!(
                "Requeued {id}: {}, on hold until {webhook} is resumed.",
                delivery.status
            ))?;
            out.note(format!(
                "To resume the webhook: postrider webhooks resume {webhook}"
            ));
            return Ok(Ending::Fine);
        }
        out.line(format!(
            "Requeued {}: {} and due now.",
            delivery.id, delivery.status
        ))?;
        out.note(format!("To see the result: postrider show {}", delivery.id));
    }
    Ok(Ending::Fine)
}

/// The API's error names the field `force`; here it is an option.
fn advise(mut failure: Failure, id: &str) -> Failure {
    if let Failure::Rejected {
        problem,
        advice: advice @ None,
    } = &mut failure
        && problem.code() == Some(Code::DeliveryDelivered)
    {
        *advice = Some(format!("to send it again: postrider retry {id} --force"));
    }
    failure
}
