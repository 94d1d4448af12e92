//! Bulk retries: counts the deliveries that match, asks for confirmation, and starts a job of the gateway.

use postrider_api_types::filter::FilterParameters;
use postrider_api_types::job::{NewRetry, RetryJobView};
use postrider_domain::delivery::Status;
use postrider_domain::time::Timestamp;

use super::super::deliveries::table;
use super::super::filter::FilterArgs;
use super::super::follow::WaitArgs;
use super::{settle, watch};
use crate::client::{Answer, Client};
use crate::edge;
use crate::failure::{Ending, Failure};
use crate::output::Output;
use crate::pages;
use crate::views::WebhookNames;

/// How many deliveries a dry run shows.
const EXAMPLES: usize = 5;

pub(super) struct BulkArgs {
    pub(super) status: Status,
    pub(super) dry_run: bool,
    pub(super) yes: bool,
    pub(super) wait: WaitArgs,
    pub(super) filter: FilterArgs,
}

/// A bulk retry; times in its conditions are relative to the start of the command.
pub(super) struct Bulk<'a> {
    pub(super) client: &'a Client,
    pub(super) out: Output,
    pub(super) filter: FilterArgs,
    conditions: FilterParameters,
    started_at: Timestamp,
}

pub(super) async fn run(args: BulkArgs, client: &Client, out: Output) -> Result<Ending, Failure> {
    let now = edge::now();
    let bulk = Bulk {
        client,
        out,
        conditions: args.filter.parameters(Some(args.status), now),
        filter: args.filter,
        started_at: now,
    };
    if args.dry_run {
        return bulk.dry_run().await;
    }
    if !args.yes && !bulk.is_confirmed().await? {
        out.note("Nothing was requeued.");
        return Ok(Ending::Unsuccessful);
    }
    if args.wait.wait {
        settle::run(&bulk, &args.wait).await
    } else {
        watch::run(&bulk).await
    }
}

impl Bulk<'_> {
    /// Starts the job; the gateway counts and requeues in the background.
    pub(super) async fn start(&self) -> Result<Answer, Failure> {
        self.post(false).await
    }

    /// The same conditions with another status, without deliveries that were accepted after the start.
    pub(super) fn in_status(&self, status: Status) -> FilterParameters {
        let conditions = self.conditions.clone();
        FilterParameters {
            status: Some(status.to_string()),
            to: conditions.to.or_else(|| Some(self.started_at.to_string())),
            ..conditions
        }
    }

    async fn post(&self, dry_run: bool) -> Result<Answer, Failure> {
        let body = NewRetry {
            filter: self.conditions.clone(),
            dry_run,
        };
        self.client.post(&["v1", "retries"], &body).await
    }

    async fn dry_run(&self) -> Result<Ending, Failure> {
        let answer = self.post(true).await?;
        if self.out.wants_json() {
            self.out.document(&answer.text)?;
            return Ok(Ending::Fine);
        }
        let job: RetryJobView = answer.read()?;
        let would = format!("{} would be requeued.", matched(&job));
        if job.matched == 0 && job.counted {
            self.out.line(would)?;
            return Ok(Ending::Fine);
        }
        let path = ["v1", "deliveries"];
        let newest = pages::first(self.client, &path, &self.conditions, EXAMPLES).await?;
        let names = WebhookNames::read(self.client).await;
        let examples = table(newest.read()?, &names, edge::now()).show(self.out);
        let heading = if newest.next_cursor.is_some() {
            " The most recent ones:"
        } else {
            ""
        };
        self.out.line(format!("{would}{heading}\n{examples}"))?;
        Ok(Ending::Fine)
    }

    /// Asks for confirmation, with the number of deliveries.
    async fn is_confirmed(&self) -> Result<bool, Failure> {
        let job: RetryJobView = self.post(true).await?.read()?;
        let question = format!("Requeue {} ({})?", matched(&job), self.in_words());
        edge::ask_yes(&question)?.ok_or_else(|| {
            Failure::Input(format!(
                "{} would be requeued. Confirm with --yes, because standard input is not a terminal, or use --dry-run to only count them",
                matched(&job)
            ))
        })
    }

    /// `dead, webhook_id wh_…`.
    fn in_words(&self) -> String {
        let status = self.conditions.status.clone();
        let others = self
            .conditions
            .pairs()
            .filter(|(name, _)| *name != "status");
        let words = others.map(|(name, value)| format!("{name} {value}"));
        let all = status.into_iter().chain(words);
        all.collect::<Vec<_>>().join(", ")
    }
}

/// `7 deliveries`, or `at least 10000 deliveries` if not all of them are counted.
pub(super) fn matched(job: &RetryJobView) -> String {
    let deliveries = deliveries(job.matched);
    if job.counted {
        deliveries
    } else {
        format!("at least {deliveries}")
    }
}

/// `1 delivery`, `7 deliveries`.
fn deliveries(count: u64) -> String {
    if count == 1 {
        "1 delivery".to_owned()
    } else {
        format!("{count} deliveries")
    }
}
