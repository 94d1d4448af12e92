//! Backups of the data directory, taken while the gateway runs.
//!
//! A backup is one SQLite file: a copy of the database, plus two tables with what belongs to it. `secret.key` is in there,
//! because the secrets of a database without its key are lost; so a backup must be kept as safe as the directory itself.

mod contents;
mod identity;
mod last;
mod restore;
mod take;

pub use contents::BackupContents;
pub use identity::identity;
pub use last::{LastBackup, last_backup};
pub use restore::{OpenDeliveries, Restored, restore};
pub use take::{CopyProgress, DRAFT, back_up};

/// Files of the data directory that belong to the database.
const FILES: [&str; 2] = [crate::sqlite::KEY_FILE, "admin-token"];

const TABLES: &str = "\
CREATE TABLE postrider_backup (
  taken_at  INTEGER NOT NULL,
  version   TEXT NOT NULL
) STRICT;
CREATE TABLE postrider_backup_files (
  name      TEXT NOT NULL PRIMARY KEY,
  contents  BLOB NOT NULL
) STRICT;";

const DROP_TABLES: &str = "DROP TABLE postrider_backup; DROP TABLE postrider_backup_files;";
