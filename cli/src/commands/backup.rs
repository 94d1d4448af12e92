//! `postrider backup`: copies the data directory of a gateway, running or not, into one file.

use std::path::{Path, PathBuf};

use clap::Args;
use postrider_adapter_local::backup::{self, BackupContents};

use crate::edge;
use crate::failure::{Ending, Failure};
use crate::output::{Output, plural};
use crate::progress::CopyBar;

const AFTER_HELP: &str = "\
Examples:
  postrider backup /backups/monday.backup
  postrider --data /var/lib/postrider backup /backups/monday.backup

The gateway keeps running. The file contains the database and the key that its secrets are encrypted
with, because neither is of use without the other. With the file, every signing secret can be read:
keep it where you keep other credentials.

For backups on a schedule, set POSTRIDER_BACKUP_DIR for `postrider serve`.";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct BackupArgs {
    /// File to create; an existing file is never overwritten
    file: PathBuf,
}

pub(crate) fn run(args: &BackupArgs, data: &Path, out: Output) -> Result<Ending, Failure> {
    let bar = CopyBar::new(out);
    let contents = backup::back_up(data, &args.file, edge::now(), &mut |at| bar.set(at));
    bar.finish();
    let contents = contents.map_err(|error| Failure::of_files(&error))?;
    if out.wants_json() {
        out.value(&contents)?;
        return Ok(Ending::Fine);
    }
    out.line(format!(
        "Backed up {} to {}: {}.",
        data.display(),
        args.file.display(),
        holdings(&contents)
    ))?;
    out.note("It contains the key to every signing secret: keep it private. To restore it: postrider restore");
    Ok(Ending::Fine)
}

/// What a backup holds, in one line.
pub(super) fn holdings(contents: &BackupContents) -> String {
    format!(
        "{}, {}, {}, {}, {} deliveries ({} open), {}",
        plural(contents.webhooks, "webhook"),
        plural(contents.sources, "source"),
        plural(contents.keys, "API key"),
        plural(contents.events, "event"),
        contents.deliveries,
        contents.open_deliveries,
        size(contents.bytes)
    )
}

#[expect(clippy::cast_precision_loss, reason = "shown with one decimal")]
fn size(bytes: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)];
    let unit = UNITS.iter().find(|(_, unit)| bytes >= *unit);
    match unit {
        Some((name, unit)) => format!("{:.1} {name}", bytes as f64 / *unit as f64),
        None => format!("{bytes} bytes"),
    }
}
