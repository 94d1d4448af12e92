//! `postrider deliveries`: what happened.

mod show;

use clap::{Args, Subcommand};
use postrider_domain::delivery::Status;
use postrider_domain::time::Timestamp;

use super::filter::FilterArgs;
use crate::client::Client;
use crate::edge;
use crate::failure::{Ending, Failure};
use crate::output::{Output, printable_line};
use crate::pages;
use crate::shapes::Delivery;
use crate::table::Table;
use crate::when::{short_time, until};

const AFTER_HELP: &str = "\
Examples:
  postrider deliveries list --status dead --since 24h
  postrider deliveries list --session build-7 --json | jq '.items[].status'
  postrider deliveries show dlv_…";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct DeliveriesArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List deliveries, the newest first
    #[command(after_help = AFTER_HELP)]
    List(ListArgs),
    /// Show one with its attempts and its payload
    Show {
        /// The delivery's id, dlv_…
        id: String,
    },
}

#[derive(Debug, Args)]
struct ListArgs {
    /// How many at the most
    #[arg(long, default_value_t = 50, value_name = "N")]
    limit: usize,

    /// In this status
    #[arg(long, value_parser = Status::ALL.map(Status::as_str))]
    status: Option<String>,

    #[command(flatten)]
    filter: FilterArgs,
}

pub(crate) async fn run(
    args: DeliveriesArgs,
    client: &Client,
    out: Output,
) -> Result<Ending, Failure> {
    match args.action {
        Action::List(args) => list(args, client, out).await?,
        Action::Show { id } => {
            let answer = client.get(&["v1", "deliveries", &id]).await?;
            if out.wants_json() {
                out.document(&answer.text)?;
            } else {
                out.line(show::describe(&answer.read()?, out))?;
            }
        }
    }
    Ok(Ending::Fine)
}

async fn list(args: ListArgs, client: &Client, out: Output) -> Result<(), Failure> {
    let now = edge::now();
    let query = args.filter.conditions(args.status, now);
    let listing = pages::first(client, &["v1", "deliveries"], &query, args.limit).await?;
    if out.wants_json() {
        return out.value(&listing);
    }
    if listing.items.is_empty() {
        out.note("No delivery fits.");
        return Ok(());
    }
    let mut table = Table::new([
        "ID",
        "STATUS",
        "ATTEMPTS",
        "TYPE",
        "CREATED",
        "NEXT OR ERROR",
    ]);
    for delivery in listing.read::<Delivery>()? {
        let remark = remark(&delivery, now);
        let created = short_time(&delivery.created_at);
        let (mark, tries) = (delivery.mark(), delivery.tries());
        table.row(
            mark,
            [
                delivery.id,
                delivery.status,
                tries,
                delivery.event_type,
                created,
                remark,
            ],
        );
    }
    out.line(table.show(out))?;
    if listing.next_cursor.is_some() {
        out.note(format!(
            "There are more; --limit shows more than {}.",
            args.limit
        ));
    }
    Ok(())
}

fn remark(delivery: &Delivery, now: Timestamp) -> String {
    let next = delivery
        .next_retry_at
        .as_deref()
        .filter(|_| !delivery.is_settled())
        .map(|at| until(at, now));
    let error = delivery
        .error_detail
        .as_deref()
        .filter(|_| !delivery.is_delivered());
    let parts = [next, error.map(|error| printable_line(error, 60))];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}
