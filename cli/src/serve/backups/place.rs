//! Where the scheduled backups of one gateway are. Others may share the directory.

use std::fs;
use std::path::{Path, PathBuf};

use postrider_adapter_local::backup::DRAFT;
use postrider_domain::time::{Millis, Timestamp};
use tracing::warn;

const SUFFIX: &str = ".backup";

pub(super) struct Place<'a> {
    directory: &'a Path,
    prefix: String,
}

impl<'a> Place<'a> {
    pub(super) fn new(directory: &'a Path, identity: &str) -> Self {
        let prefix = format!("postrider-{identity}-");
        Self { directory, prefix }
    }

    pub(super) fn directory(&self) -> &Path {
        self.directory
    }

    /// Names sort by time, and have no colon, which some file systems do not allow.
    pub(super) fn file(&self, at: Timestamp) -> PathBuf {
        let at = at.to_string().replace(':', "-");
        self.directory.join(format!("{}{at}{SUFFIX}", self.prefix))
    }

    fn time_of(&self, name: &str) -> Option<Timestamp> {
        let text = name.strip_prefix(&self.prefix)?.strip_suffix(SUFFIX)?;
        let (date, time) = text.split_once('T')?;
        Timestamp::parse_rfc3339(&format!("{date}T{}", time.replace('-', ":"))).ok()
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.directory).into_iter().flatten().flatten();
        entries
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect()
    }

    fn taken(&self) -> Vec<(Timestamp, PathBuf)> {
        let names = self.names().into_iter();
        names
            .filter_map(|name| Some((self.time_of(&name)?, self.directory.join(&name))))
            .collect()
    }

    /// A backup that a clock running ahead has dated does not count.
    pub(super) fn is_due(&self, interval: Millis, now: Timestamp) -> bool {
        let taken_at = self.taken().into_iter().map(|(at, _)| at);
        let newest = taken_at.filter(|at| *at <= now).max();
        newest.is_none_or(|at| now.since(at) >= interval)
    }

    /// Those from the future are deleted first: when they were really taken is not known.
    pub(super) fn delete_old(&self, keep: usize, now: Timestamp) {
        let mut backups = self.taken();
        backups.sort_by_key(|(at, _)| (*at <= now, *at));
        let many = backups.len().saturating_sub(keep);
        for (_, file) in backups.into_iter().take(many) {
            delete(&file);
        }
    }

    /// What a process that was killed has left. Only one process serves the data at a time.
    pub(super) fn delete_drafts(&self) {
        let draft = format!("{SUFFIX}{DRAFT}");
        for name in self.names() {
            if name.starts_with(&self.prefix) && name.contains(&draft) {
                delete(&self.directory.join(name));
            }
        }
    }
}

fn delete(file: &Path) {
    if let Err(error) = fs::remove_file(file) {
        warn!(
            event = "backup.not_deleted",
            file = %file.display(),
            reason = %error,
            "an old backup could not be deleted"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Millis = Millis::from_seconds(3_600);

    fn at(text: &str) -> Timestamp {
        Timestamp::parse_rfc3339(text).unwrap()
    }

    #[test]
    fn a_backup_is_due_an_interval_after_the_newest_that_is_not_from_the_future() {
        let dir = tempfile::tempdir().unwrap();
        let place = Place::new(dir.path(), "0123abcd");
        let other = Place::new(dir.path(), "99999999");
        let now = at("2026-11-17T10:00:00.123Z");
        assert!(place.is_due(HOUR, now));
        let later = now.plus(Millis::from_seconds(1_800));
        for file in [
            place.file(now),
            place.file(at("2030-01-01T00:00:00Z")),
            other.file(later),
        ] {
            fs::write(file, "").unwrap();
        }
        assert!(!place.is_due(HOUR, now.plus(Millis::from_seconds(3_599))));
        assert!(place.is_due(HOUR, now.plus(HOUR)));
    }

    #[test]
    fn only_the_newest_scheduled_backups_of_this_gateway_stay() {
        let dir = tempfile::tempdir().unwrap();
        let place = Place::new(dir.path(), "0123abcd");
        let now = at("2026-11-17T10:00:00Z");
        let taken = |n| place.file(now.plus(Millis::from_seconds(n)));
        let scheduled: Vec<PathBuf> = (0..4).map(taken).collect();
        let ahead = place.file(at("2030-01-01T00:00:00Z"));
        let draft = PathBuf::from(format!("{}.part77", place.file(now).display()));
        let by_hand = dir.path().join("before-the-upgrade.backup");
        let of_another = Place::new(dir.path(), "99999999").file(Timestamp::ZERO);
        let others = [&ahead, &by_hand, &draft, &of_another];
        for file in scheduled.iter().chain(others) {
            fs::write(file, "").unwrap();
        }
        place.delete_old(2, now.plus(HOUR));
        place.delete_drafts();
        let left: Vec<bool> = scheduled.iter().map(|file| file.exists()).collect();
        assert_eq!(left, [false, false, true, true]);
        assert!(by_hand.exists() && of_another.exists() && !ahead.exists() && !draft.exists());
    }
}
