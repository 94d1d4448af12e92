//! The settings of scheduled backups.

use std::path::PathBuf;

use postrider_domain::time::Millis;
use postrider_gateway::settings::Reader;
use postrider_gateway::settings::setting::{OptionalText, Setting, WholeNumber};

pub(crate) const DIRECTORY: Setting<OptionalText> = Setting {
    name: "POSTRIDER_BACKUP_DIR",
    values: OptionalText {
        form: "directory",
        unset: "no scheduled backups",
    },
    meaning: "Where scheduled backups go, best on another disk. Each is one file with the database and the key of its secrets; see `postrider restore --help`.",
};

pub(crate) const INTERVAL: Setting<WholeNumber<u64>> = Setting {
    name: "POSTRIDER_BACKUP_INTERVAL_HOURS",
    values: WholeNumber {
        min: 1,
        max: 720,
        default: 24,
    },
    meaning: "Time between two scheduled backups.",
};

pub(crate) const KEEP: Setting<WholeNumber<usize>> = Setting {
    name: "POSTRIDER_BACKUP_KEEP",
    values: WholeNumber {
        min: 1,
        max: 1_000,
        default: 7,
    },
    meaning: "How many scheduled backups are kept. Older ones are deleted after each new one.",
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BackupSettings {
    pub(crate) directory: PathBuf,
    pub(crate) interval: Millis,
    pub(crate) keep: usize,
}

pub(super) fn read(reader: &mut Reader<'_>) -> Option<BackupSettings> {
    let (hours, keep) = (INTERVAL.read(reader), KEEP.read(reader));
    let directory = DIRECTORY.read(reader)?;
    Some(BackupSettings {
        directory: directory.into(),
        interval: Millis::from_seconds(hours * 3_600),
        keep,
    })
}
