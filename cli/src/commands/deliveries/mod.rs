//! `postrider deliveries`: list and follow deliveries.

mod follow;
mod list;

use clap::{Args, Subcommand};
use postrider_api_types::flag;
use postrider_domain::delivery::Status;

pub(super) use self::list::table;
use super::filter::FilterArgs;
use super::show::{self, ShowArgs};
use crate::client::Client;
use crate::failure::{Ending, Failure};
use crate::output::Output;

const AFTER_HELP: &str = "\
Examples:
  postrider deliveries
  postrider deliveries --status dead --since 24h
  postrider deliveries --session build-7 --json | jq '.items[].status'
  postrider deliveries --follow --webhook wh_…
  postrider deliveries --follow --limit 0 --status dead --json | jq -r .id
  postrider deliveries show dlv_…

--follow runs until Ctrl-C (exit code 0) and prints a line per change: delivered, failed (will be \
retried), dead, requeued (an operator retried it). A delivery first appears after its first attempt. After \
a lost connection it reconnects and misses no change. With --json each line is a document: change, at, id, \
event_type, webhook_id, session_id, status, attempt_count, error.";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct DeliveriesArgs {
    #[command(subcommand)]
    action: Option<Action>,

    #[command(flatten)]
    list: ListArgs,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List deliveries, newest first; the same as `postrider deliveries`
    #[command(after_help = AFTER_HELP)]
    List(ListArgs),
    /// Show a delivery with its attempts and why it failed; the same as `postrider show`
    Show(ShowArgs),
}

#[derive(Debug, Args)]
struct ListArgs {
    /// Print changes as they happen
    #[arg(long, short, conflicts_with = "to")]
    follow: bool,

    /// Maximum number of deliveries; with --follow, how many to start with [default: 50, with --follow 10]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,

    /// Status of the delivery
    #[arg(long, value_parser = flag::named::<Status>())]
    status: Option<Status>,

    #[command(flatten)]
    filter: FilterArgs,
}

impl ListArgs {
    fn any(&self) -> bool {
        self.follow || self.limit.is_some() || self.status.is_some() || self.filter.any()
    }
}

pub(crate) async fn run(
    args: DeliveriesArgs,
    client: &Client,
    out: Output,
) -> Result<Ending, Failure> {
    if args.action.is_some() && args.list.any() {
        return Err(Failure::Input(
            "put the options after `list`; `show` does not take them".to_owned(),
        ));
    }
    match args.action.unwrap_or(Action::List(args.list)) {
        Action::List(args) if args.follow => follow::run(&args, client, out).await,
        Action::List(args) => list::run(args, client, out).await,
        Action::Show(args) => show::run(args, client, out).await,
    }
}
