//! `postrider import`: brings an export, or the endpoints of Svix or Convoy, into a gateway.

mod batch;
mod convoy;
mod lines;
mod remote;
mod report;
mod svix;
mod webhook;

use clap::{Args, ValueEnum};

use self::batch::Batches;
use self::report::Report;
use super::passphrase::PassphraseArgs;
use crate::client::Client;
use crate::edge;
use crate::failure::{Ending, Failure};
use crate::output::Output;
use crate::progress::RecordCount;

const AFTER_HELP: &str = "\
Examples:
  postrider import gateway.jsonl
  postrider import gateway.jsonl --replace
  SVIX_AUTH_TOKEN=… postrider import --from svix https://api.eu.svix.com
  postrider import --from svix svix.json
  CONVOY_API_KEY=… postrider import --from convoy https://convoy.example.com/api/v1/projects/01J…

Ids stay the same. Importing a file again changes nothing, so an interrupted import is repeated as a
whole. What exists and differs is reported and left as it is, unless you pass --replace.
Open deliveries are sent as soon as they are due. Needs a key of the tenant `default` with the scope
`manage`.

From Svix and Convoy: each application or owner becomes a tenant, each endpoint a webhook with its URL,
event types, headers and signing secret. What cannot be carried over is listed at the end.";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct ImportArgs {
    /// A file made by `postrider export`; with --from, a file or the URL of an API
    source: String,

    /// Where the data comes from
    #[arg(long, value_enum, default_value_t = From::Postrider)]
    from: From,

    /// Replace webhooks, sources and keys that exist and differ
    #[arg(long)]
    replace: bool,

    /// Tenant for the webhooks of one application or owner [default: derived from its name]
    #[arg(long)]
    tenant: Option<String>,

    #[command(flatten)]
    passphrase: PassphraseArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum From {
    Postrider,
    Svix,
    Convoy,
}

pub(crate) async fn run(args: ImportArgs, client: &Client, out: Output) -> Result<Ending, Failure> {
    if args.from == From::Postrider && args.tenant.is_some() {
        let detail =
            "--tenant is only for --from svix and --from convoy: an export names its tenants";
        return Err(Failure::Input(detail.to_owned()));
    }
    client.warn_unless_private(out);
    let count = RecordCount::new(out, "Imported");
    let mut report = Report::new(out);
    let batches = Batches {
        client,
        replace: args.replace,
        count: &count,
    };
    let work = async {
        match args.from {
            From::Postrider => {
                lines::import(&args.source, args.passphrase, &batches, &mut report).await
            }
            From::Svix => {
                let applications = svix::read(&args.source).await?;
                let webhooks = svix::convert(&applications, args.tenant.as_deref(), &mut report)?;
                batches.webhooks(webhooks, &mut report).await
            }
            From::Convoy => {
                let project = convoy::read(&args.source).await?;
                let webhooks = convoy::convert(&project, args.tenant.as_deref(), &mut report)?;
                batches.webhooks(webhooks, &mut report).await
            }
        }
    };
    let done = edge::unless_interrupted(work).await;
    count.finish();
    match done {
        Some(Ok(())) => report.show(),
        Some(Err(failure)) => {
            report.stopped();
            Err(failure)
        }
        None => {
            report.stopped();
            Ok(Ending::Interrupted)
        }
    }
}
