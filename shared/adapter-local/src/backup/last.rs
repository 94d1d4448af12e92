//! The note in the data directory about the last backup, for `doctor` and the metrics.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use serde::{Deserialize, Serialize};

use crate::sqlite::{Fault, private, sync_name};

const FILE: &str = "last-backup.json";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastBackup {
    pub taken_at: Timestamp,
    pub file: PathBuf,
    pub bytes: u64,
}

/// The last backup of the directory; `None` if there is none, or its note cannot be read.
#[must_use]
pub fn last_backup(dir: &Path) -> Option<LastBackup> {
    let text = fs::read(dir.join(FILE)).ok()?;
    serde_json::from_slice(&text).ok()
}

/// A backup taken by root must leave a note that the gateway can read.
#[cfg(unix)]
fn give_to_owner_of(dir: &Path, file: &Path) {
    use std::os::unix::fs::MetadataExt;
    if let Ok(dir) = fs::metadata(dir) {
        // Only root may, and only root needs to.
        let _ = std::os::unix::fs::chown(file, Some(dir.uid()), Some(dir.gid()));
    }
}

#[cfg(not(unix))]
fn give_to_owner_of(_: &Path, _: &Path) {}

/// Replaces the note in one step, so that it is complete whenever it is read.
pub(super) fn record(dir: &Path, last: &LastBackup) -> Result<()> {
    let path = dir.join(FILE);
    let write = || -> std::io::Result<()> {
        let draft = path.with_extension("json.part");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        private(&mut options);
        let mut file = options.open(&draft)?;
        serde_json::to_writer(&mut file, last)?;
        file.write_all(b"\n")?;
        file.sync_all()?;
        give_to_owner_of(dir, &draft);
        fs::rename(&draft, &path)?;
        sync_name(&path)
    };
    Ok(write().map_err(|error| Fault::io("cannot write", &path, &error))?)
}
