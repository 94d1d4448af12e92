//! `postrider export`: writes what a gateway stores to a file, for another gateway to import.

mod file;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use postrider_api_types::flag;
use postrider_api_types::transfer::{ExportPageView, ExportRequest};
use postrider_domain::transfer::MovedDeliveries;
use serde_json::json;

use self::file::ExportFile;
use super::passphrase::PassphraseArgs;
use crate::client::Client;
use crate::edge;
use crate::failure::{Ending, Failure};
use crate::output::{Output, plural};
use crate::progress::RecordCount;

/// How long to wait for attempts in flight before asking again.
const POLL_EVERY: Duration = Duration::from_millis(500);

const AFTER_HELP: &str = "\
Examples:
  postrider export gateway.jsonl
  postrider export gateway.jsonl --deliveries open --pause
  postrider export gateway.jsonl --resume
  POSTRIDER_URL=https://… POSTRIDER_TOKEN=… postrider export aws.jsonl --deliveries all

The file contains webhooks, sources and API keys of all tenants, and with --deliveries their events and
deliveries. Secrets and header values are encrypted with a passphrase; payloads are not.
Needs a key of the tenant `default` with the scope `manage`.

To move a gateway without sending anything twice, export with --pause and do not resume its webhooks.";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct ExportArgs {
    /// File to create; an existing file is never overwritten
    file: PathBuf,

    /// Which deliveries to export with their events: none, those that are still to be sent, or all
    #[arg(long, default_value = "none", value_parser = flag::named::<MovedDeliveries>())]
    deliveries: MovedDeliveries,

    /// Pause every webhook first, so that this gateway sends nothing that the other one will send
    #[arg(long)]
    pause: bool,

    /// Continue an export that was interrupted, with the same --deliveries and --pause
    #[arg(long)]
    resume: bool,

    #[command(flatten)]
    passphrase: PassphraseArgs,
}

pub(crate) async fn run(args: ExportArgs, client: &Client, out: Output) -> Result<Ending, Failure> {
    client.warn_unless_private(out);
    let (mut file, mut cursor) = if args.resume {
        let (file, cursor) = ExportFile::resume(&args.file, args.deliveries, args.passphrase)?;
        (file, Some(cursor))
    } else {
        let file = ExportFile::create(&args.file, args.deliveries, args.passphrase)?;
        (file, None)
    };
    let count = RecordCount::new(out, "Exported");
    let all = async {
        loop {
            let request = ExportRequest {
                key: file.key(),
                deliveries: args.deliveries,
                pause_webhooks: args.pause,
                cursor: cursor.take(),
            };
            let page = client.post(&["v1", "export"], &request).await?;
            let page: ExportPageView = page.read()?;
            file.append(&page)?;
            count.set(file.records());
            let Some(next) = page.next_cursor else {
                return file.finish();
            };
            if page.in_flight {
                edge::pause(POLL_EVERY).await;
            }
            cursor = Some(next);
        }
    };
    let done: Option<Result<u64, Failure>> = edge::unless_interrupted(all).await;
    count.finish();
    let path = args.file.display();
    match done {
        Some(Ok(records)) => {
            if out.wants_json() {
                out.value(&json!({ "file": args.file, "records": records }))?;
                return Ok(Ending::Fine);
            }
            out.line(format!("Exported {} to {path}.", plural(records, "record")))?;
            out.note("Import it into another gateway with: postrider import");
            Ok(Ending::Fine)
        }
        Some(Err(failure)) => {
            out.note(format!("To continue: postrider export {path} --resume"));
            Err(failure)
        }
        None => {
            out.note(format!("To continue: postrider export {path} --resume"));
            Ok(Ending::Interrupted)
        }
    }
}
