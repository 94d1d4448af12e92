//! All that a filter finds: counted, asked about, and handed to the gateway as a job.

use serde_json::{Map, Value, json};

use super::super::deliveries::table;
use super::super::filter::FilterArgs;
use super::super::follow::WaitArgs;
use super::{settle, watch};
use crate::client::{Answer, Client};
use crate::edge;
use crate::failure::{Ending, Failure};
use crate::output::Output;
use crate::pages;
use crate::shapes::Job;

/// How many a dry run shows.
const EXAMPLES: usize = 5;

/// Which deliveries, and how to go about it.
pub(super) struct BulkArgs {
    pub(super) status: &'static str,
    pub(super) dry_run: bool,
    pub(super) yes: bool,
    pub(super) wait: WaitArgs,
    pub(super) filter: FilterArgs,
}

/// A bulk retry, with its conditions as they were when the command began.
pub(super) struct Bulk<'a> {
    pub(super) client: &'a Client,
    pub(super) out: Output,
    pub(super) filter: FilterArgs,
    status: &'static str,
    conditions: Vec<(&'static str, String)>,
}

pub(super) async fn run(args: BulkArgs, client: &Client, out: Output) -> Result<Ending, Failure> {
    let now = edge::now();
    let bulk = Bulk {
        client,
        out,
        conditions: args.filter.conditions(Some(args.status.to_owned()), now),
        filter: args.filter,
        status: args.status,
    };
    if args.dry_run {
        return bulk.dry_run().await;
    }
    if !args.yes && !bulk.is_agreed().await? {
        out.note("Nothing was put back.");
        return Ok(Ending::Negative);
    }
    if args.wait.wait {
        settle::run(&bulk, &args.wait).await
    } else {
        watch::run(&bulk).await
    }
}

impl Bulk<'_> {
    /// Begins the job; the gateway does its first slice at once.
    pub(super) async fn begin(&self) -> Result<Answer, Failure> {
        self.ask(false).await
    }

    async fn ask(&self, dry_run: bool) -> Result<Answer, Failure> {
        let conditions = self.conditions.iter();
        let filter: Map<String, Value> = conditions
            .map(|(name, value)| ((*name).to_owned(), value.as_str().into()))
            .collect();
        let body = json!({ "filter": filter, "dry_run": dry_run });
        self.client.post(&["v1", "retries"], &body).await
    }

    async fn dry_run(&self) -> Result<Ending, Failure> {
        let answer = self.ask(true).await?;
        if self.out.wants_json() {
            self.out.document(&answer.text)?;
            return Ok(Ending::Fine);
        }
        let job: Job = answer.read()?;
        let would = format!("{} would be put back.", deliveries(job.matched));
        if job.matched == 0 {
            self.out.line(would)?;
            return Ok(Ending::Fine);
        }
        let path = ["v1", "deliveries"];
        let newest = pages::first(self.client, &path, &self.conditions, EXAMPLES).await?;
        let examples = table(newest.read()?, edge::now()).show(self.out);
        let heading = if newest.next_cursor.is_some() {
            " The newest of them:"
        } else {
            ""
        };
        self.out.line(format!("{would}{heading}\n{examples}"))?;
        Ok(Ending::Fine)
    }

    /// Says how many there are and asks whether to go on.
    async fn is_agreed(&self) -> Result<bool, Failure> {
        let job: Job = self.ask(true).await?.read()?;
        let question = format!(
            "Put back {} ({})?",
            deliveries(job.matched),
            self.in_words()
        );
        edge::ask_yes(&question)?.ok_or_else(|| {
            Failure::Input(format!(
                "{} would be put back, and nobody can be asked here: say --yes, or only count them with --dry-run",
                deliveries(job.matched)
            ))
        })
    }

    /// `dead, webhook_id wh_…`.
    fn in_words(&self) -> String {
        let others = self.conditions.iter().filter(|(name, _)| *name != "status");
        let words = others.map(|(name, value)| format!("{name} {value}"));
        let all = std::iter::once(self.status.to_owned()).chain(words);
        all.collect::<Vec<_>>().join(", ")
    }
}

/// `1 delivery`, `7 deliveries`.
pub(super) fn deliveries(count: u64) -> String {
    if count == 1 {
        "1 delivery".to_owned()
    } else {
        format!("{count} deliveries")
    }
}
