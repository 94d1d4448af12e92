//! Backups on a schedule, and the metrics about the last one.

mod place;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use metrics::{counter, describe_counter, describe_gauge, gauge};
use postrider_adapter_local::backup::{back_up, identity, last_backup};
use postrider_adapter_local::make_private_directory;
use postrider_domain::time::Timestamp;
use tracing::{error, info};

use self::place::Place;
use crate::edge;
use crate::serve::settings::backups::BackupSettings;

const BACKUPS: &str = "postrider_backups_total";
const LAST: &str = "postrider_last_backup_timestamp_seconds";
const LAST_BYTES: &str = "postrider_last_backup_bytes";

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
    let stop = StopOnDrop::default();
    loop {
        let turn = Turn {
            data: data.clone(),
            settings: settings.clone(),
            stop: Arc::clone(&stop.0),
        };
        // The disk of the backups may be slow, or hang.
        let pause = tokio::task::spawn_blocking(move || turn.take(edge::now())).await;
        edge::pause(pause.unwrap_or(AFTER_A_FAILURE)).await;
    }
}

/// Stops a copy under way: a gateway that is told to stop does not wait for it.
#[derive(Default)]
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

struct Turn {
    data: PathBuf,
    settings: Option<BackupSettings>,
    stop: Arc<AtomicBool>,
}

impl Turn {
    /// Returns how long to wait for the next turn.
    fn take(&self, now: Timestamp) -> Duration {
        let kept = match &self.settings {
            Some(settings) => self.keep_schedule(settings, now),
            None => Ok(()),
        };
        report_last(&self.data);
        match kept {
            Ok(()) => LOOK_EVERY,
            Err(_) if self.stop.load(Ordering::Relaxed) => LOOK_EVERY,
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

    fn keep_schedule(&self, settings: &BackupSettings, now: Timestamp) -> Result<(), String> {
        let identity = identity(&self.data).map_err(|error| error.to_string())?;
        let place = Place::new(&settings.directory, &identity);
        if !place.is_due(settings.interval, now) {
            return Ok(());
        }
        self.back_up(&place, now)?;
        counter!(BACKUPS, "result" => "done").increment(1);
        place.delete_old(settings.keep, now);
        Ok(())
    }

    fn back_up(&self, place: &Place<'_>, now: Timestamp) -> Result<(), String> {
        let directory = place.directory();
        make_private_directory(directory)
            .map_err(|error| format!("cannot create {}: {error}", directory.display()))?;
        place.delete_drafts();
        let file = place.file(now);
        let mut goes_on = |_| {
            if self.stop.load(Ordering::Relaxed) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let contents = back_up(&self.data, &file, now, &mut goes_on);
        let contents = contents.map_err(|error| error.to_string())?;
        info!(
            event = "backup.done",
            file = %file.display(),
            bytes = contents.bytes,
            deliveries = contents.deliveries,
            "backed up"
        );
        Ok(())
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

#[cfg(test)]
mod tests {
    use postrider_domain::time::Millis;

    use super::*;

    #[test]
    fn a_backup_that_fails_is_tried_again_later() {
        let dir = tempfile::tempdir().unwrap();
        let turn = Turn {
            data: dir.path().join("nothing"),
            settings: Some(BackupSettings {
                directory: dir.path().to_owned(),
                interval: Millis::from_seconds(3_600),
                keep: 2,
            }),
            stop: Arc::default(),
        };
        assert_eq!(turn.take(Timestamp::ZERO), AFTER_A_FAILURE);
    }
}
