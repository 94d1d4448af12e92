//! `postrider restore`: brings a backup back into an empty data directory.

use std::path::{Path, PathBuf};

use clap::Args;
use postrider_adapter_local::backup::{self, BackupContents, OpenDeliveries, Restored};
use serde_json::json;

use super::backup::holdings;
use crate::edge;
use crate::failure::{Ending, Failure};
use crate::output::{Output, plural};
use crate::progress::CopyBar;

const AFTER_HELP: &str = "\
Examples:
  postrider --data /var/lib/postrider restore /backups/monday.backup --hold
  postrider restore monday.backup --check

Deliveries that were open when the backup was taken may have been sent since. With --hold every webhook
is paused and nothing is sent until you resume it; with --send they are sent again when the gateway
starts, with the same webhook-id, so that receivers that check it notice.
Events that were published after the backup are not in it: publish them again. Keys that were revoked
and secrets that were rotated since are valid again: revoke and rotate them again.";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct RestoreArgs {
    /// A file made by `postrider backup`
    file: PathBuf,

    /// Pause every webhook; resume each when you know what was sent
    #[arg(long, conflicts_with = "send")]
    hold: bool,

    /// Send open deliveries again when the gateway starts
    #[arg(long)]
    send: bool,

    /// Only check the file and show what it contains
    #[arg(long, conflicts_with_all = ["hold", "send"])]
    check: bool,
}

pub(crate) async fn run(args: RestoreArgs, data: &Path, out: Output) -> Result<Ending, Failure> {
    let contents = BackupContents::of(&args.file).map_err(|error| Failure::of_files(&error))?;
    let summary = format!(
        "Backup of {}, made by version {}: {}.",
        contents.taken_at,
        contents.version,
        holdings(&contents)
    );
    if args.check {
        return if out.wants_json() {
            out.value(&contents)
        } else {
            out.line(summary)
        }
        .map(|()| Ending::Fine);
    }
    out.note(&summary);
    let open_deliveries = choose(&args, &contents)?;
    let bar = CopyBar::new(out);
    let mut show = |at| bar.set(at);
    let restored = backup::restore(&args.file, data, open_deliveries, edge::now(), &mut show).await;
    bar.finish();
    let restored = restored.map_err(|error| Failure::of_files(&error))?;
    report(data, &contents, &restored, open_deliveries, out)
}

fn choose(args: &RestoreArgs, contents: &BackupContents) -> Result<OpenDeliveries, Failure> {
    if args.hold {
        return Ok(OpenDeliveries::Hold);
    }
    if args.send || contents.open_deliveries == 0 {
        return Ok(OpenDeliveries::Send);
    }
    let open = contents.open_deliveries;
    let question = format!(
        "{open} deliveries were open and may have been sent since. Send them again when the gateway starts? \
         (No pauses every webhook.)"
    );
    match edge::ask_yes(&question)? {
        Some(true) => Ok(OpenDeliveries::Send),
        Some(false) => Ok(OpenDeliveries::Hold),
        None => Err(Failure::Input(format!(
            "{open} deliveries were open and may have been sent since: choose --hold (pause every webhook) or --send"
        ))),
    }
}

fn report(
    data: &Path,
    contents: &BackupContents,
    restored: &Restored,
    open_deliveries: OpenDeliveries,
    out: Output,
) -> Result<Ending, Failure> {
    if out.wants_json() {
        out.value(&json!({
            "data": data,
            "backup": contents,
            "paused_webhooks": restored.paused_webhooks,
        }))?;
        return Ok(Ending::Fine);
    }
    out.line(format!("Restored into {}.", data.display()))?;
    out.note(format!(
        "Everything is as it was at {}: also keys that were revoked and secrets that were rotated since.",
        contents.taken_at
    ));
    match open_deliveries {
        OpenDeliveries::Hold => out.note(format!(
            "{} paused. Start the gateway, look at what was open, then: postrider webhooks resume wh_… (or --paused for all)",
            plural(restored.paused_webhooks, "webhook"),
        )),
        OpenDeliveries::Send if contents.open_deliveries > 0 => {
            out.note("Open deliveries are sent when the gateway starts.");
        }
        OpenDeliveries::Send => {}
    }
    Ok(Ending::Fine)
}
