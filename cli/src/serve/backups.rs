//! Backups on a schedule, and the metrics about the last one.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use metrics::{counter, describe_counter, describe_gauge, gauge};
use postrider_adapter_local::backup::{back_up, last_backup};
use postrider_domain::time::Timestamp;
use tracing::{error, info, warn};

use crate::edge;
use crate::serve::settings::backups::BackupSettings;

const BACKUPS: &str = "postrider_backups_total";
const LAST: &str = "postrider_last_backup_timestamp_seconds";
const LAST_BYTES: &str = "postrider_last_backup_bytes";

const PREFIX: &str = "postrider-";
const SUFFIX: &str = ".backup";
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// A full disk is not fixed within a minute, and its log should stay readable.
const AFTER_A_FAILURE: Duration = Duration::from_secs(15 * 60);

/// Registers the help texts.
pub(super) fn describe_metrics() {
    describe_counter!(BACKUPS, "Scheduled backups; result is done or failed");
    describe_gauge!(LAST, "When the last backup was taken; 0 if there is none");
    describe_gauge!(LAST_BYTES, "The size of the last backup");
    for result in ["done", "failed"] {
        counter!(BACKUPS, "result" => result).increment(0);
    }
}

/// Runs until it is dropped. Without a schedule it only reports backups that were taken by command.
pub(super) async fn run(data: PathBuf, settings: Option<BackupSettings>) {
    loop {
        let pause = match &settings {
            Some(settings) if is_due(settings, edge::now()) => back_up_now(&data, settings).await,
            Some(_) | None => LOOK_EVERY,
        };
        report_last(&data);
        edge::pause(pause).await;
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "metrics are floating-point numbers"
)]
fn report_last(data: &Path) {
    let last = last_backup(data);
    let (at, bytes) = last.map_or((0, 0), |last| (last.taken_at.as_seconds(), last.bytes));
    gauge!(LAST).set(at as f64);
    gauge!(LAST_BYTES).set(bytes as f64);
}

fn is_due(settings: &BackupSettings, now: Timestamp) -> bool {
    let newest = taken(&settings.directory)
        .into_iter()
        .map(|(at, _)| at)
        .max();
    // A backup that a clock running ahead has dated must not stop the next ones.
    newest.is_none_or(|at| at > now || now.since(at) >= settings.interval)
}

async fn back_up_now(data: &Path, settings: &BackupSettings) -> Duration {
    let now = edge::now();
    let (data, settings) = (data.to_owned(), settings.clone());
    let copying = tokio::task::spawn_blocking(move || {
        let directory = &settings.directory;
        fs::create_dir_all(directory)
            .map_err(|error| format!("cannot create {}: {error}", directory.display()))?;
        let file = directory.join(file_name(now));
        let contents =
            back_up(&data, &file, now, &mut |_| {}).map_err(|error| error.to_string())?;
        info!(
            event = "backup.done",
            file = %file.display(),
            bytes = contents.bytes,
            deliveries = contents.deliveries,
            "backed up"
        );
        delete_old(directory, settings.keep);
        Ok::<_, String>(())
    });
    let result = copying.await.unwrap_or_else(|error| Err(error.to_string()));
    match result {
        Ok(()) => {
            counter!(BACKUPS, "result" => "done").increment(1);
            LOOK_EVERY
        }
        Err(reason) => {
            counter!(BACKUPS, "result" => "failed").increment(1);
            error!(
                event = "backup.failed",
                reason, "the scheduled backup failed; the next try is in 15 minutes"
            );
            AFTER_A_FAILURE
        }
    }
}

/// Names sort by time, and have no colon, which some file systems do not allow.
fn file_name(at: Timestamp) -> String {
    format!("{PREFIX}{}{SUFFIX}", at.to_string().replace(':', "-"))
}

fn time_of(name: &OsString) -> Option<Timestamp> {
    let text = name.to_str()?.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?;
    let (date, time) = text.split_once('T')?;
    Timestamp::parse_rfc3339(&format!("{date}T{}", time.replace('-', ":"))).ok()
}

/// The scheduled backups in the directory.
fn taken(directory: &Path) -> Vec<(Timestamp, PathBuf)> {
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    let entries = entries.flatten();
    entries
        .filter_map(|entry| Some((time_of(&entry.file_name())?, entry.path())))
        .collect()
}

fn delete_old(directory: &Path, keep: usize) {
    let mut backups = taken(directory);
    backups.sort();
    let many = backups.len().saturating_sub(keep);
    for (_, file) in backups.into_iter().take(many) {
        if let Err(error) = fs::remove_file(&file) {
            warn!(event = "backup.not_deleted", file = %file.display(), reason = %error, "an old backup could not be deleted");
        }
    }
}

#[cfg(test)]
mod tests {
    use postrider_domain::time::Millis;

    use super::*;

    const HOUR: Millis = Millis::from_seconds(3_600);

    fn settings(directory: &Path) -> BackupSettings {
        BackupSettings {
            directory: directory.to_owned(),
            interval: HOUR,
            keep: 2,
        }
    }

    fn at(text: &str) -> Timestamp {
        Timestamp::parse_rfc3339(text).unwrap()
    }

    #[test]
    fn a_backup_is_due_an_interval_after_the_newest_whatever_its_clock_said() {
        let dir = tempfile::tempdir().unwrap();
        let settings = settings(dir.path());
        let now = at("2026-11-17T10:00:00.123Z");
        assert!(is_due(&settings, now));
        fs::write(dir.path().join(file_name(now)), "").unwrap();
        assert!(!is_due(&settings, now.plus(Millis::from_seconds(3_599))));
        assert!(is_due(&settings, now.plus(HOUR)));
        assert!(is_due(&settings, now.minus(Millis::new(1))));
    }

    #[test]
    fn only_the_newest_scheduled_backups_stay() {
        let dir = tempfile::tempdir().unwrap();
        let now = at("2026-11-17T10:00:00Z");
        let scheduled: Vec<PathBuf> = (0..4)
            .map(|n| {
                dir.path()
                    .join(file_name(now.plus(Millis::from_seconds(n))))
            })
            .collect();
        let other = dir.path().join("before-the-upgrade.backup");
        for file in scheduled.iter().chain([&other]) {
            fs::write(file, "").unwrap();
        }
        delete_old(dir.path(), 2);
        let left: Vec<bool> = scheduled.iter().map(|file| file.exists()).collect();
        assert_eq!(left, [false, false, true, true]);
        assert!(other.exists());
    }

    #[tokio::test]
    async fn a_backup_that_fails_is_tried_again_later() {
        let dir = tempfile::tempdir().unwrap();
        let nothing = dir.path().join("nothing");
        let pause = back_up_now(&nothing, &settings(dir.path())).await;
        assert_eq!(pause, AFTER_A_FAILURE);
    }
}
