//! Recordings of gateways that break a rule. Each must be found, or the examination proves nothing.

use std::collections::HashSet;

use super::journal::Record;

/// A rule that a gateway could break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// Files are not synced, as with `synchronous = OFF`.
    FilesAreNotSynced,
    /// Directories are not synced.
    DirectoriesAreNotSynced,
    /// A response is sent while the sync that it has to wait for is under way.
    RespondsBeforeTheSyncEnds,
}

impl Flaw {
    pub const ALL: [Self; 3] = [
        Self::FilesAreNotSynced,
        Self::DirectoriesAreNotSynced,
        Self::RespondsBeforeTheSyncEnds,
    ];

    /// What would have been recorded of a gateway with this flaw.
    pub(super) fn apply(self, records: Vec<Record>) -> Vec<Record> {
        match self {
            Self::FilesAreNotSynced => without_syncs(records, Synced::Files),
            Self::DirectoriesAreNotSynced => without_syncs(records, Synced::Directories),
            Self::RespondsBeforeTheSyncEnds => with_early_responses(records),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Synced {
    Files,
    Directories,
}

fn without_syncs(records: Vec<Record>, ignored: Synced) -> Vec<Record> {
    let mut made = HashSet::new();
    let mut directories = HashSet::new();
    let mut kept = Vec::new();
    for record in records {
        match &record {
            Record::MadeDirectory { path } => {
                made.insert(path.clone());
            }
            Record::Opened { inode, path } => {
                if path.as_os_str().is_empty() || made.contains(path) {
                    directories.insert(*inode);
                } else {
                    directories.remove(inode);
                }
            }
            Record::Created { inode, .. } => {
                directories.remove(inode);
            }
            Record::SyncBegan { inode, .. } | Record::SyncEnded { inode, .. } => {
                if directories.contains(inode) == (ignored == Synced::Directories) {
                    continue;
                }
            }
            Record::Wrote { .. }
            | Record::Resized { .. }
            | Record::Linked { .. }
            | Record::Renamed { .. }
            | Record::Removed { .. }
            | Record::Responded(_) => {}
        }
        kept.push(record);
    }
    kept
}

/// Moves each response to before the end of the last sync before it.
fn with_early_responses(records: Vec<Record>) -> Vec<Record> {
    let mut moved: Vec<Record> = Vec::new();
    for record in records {
        let is_response = matches!(record, Record::Responded(_));
        let is_end = |earlier: &Record| matches!(earlier, Record::SyncEnded { .. });
        match moved.iter().rposition(is_end).filter(|_| is_response) {
            Some(at) => moved.insert(at, record),
            None => moved.push(record),
        }
    }
    moved
}
