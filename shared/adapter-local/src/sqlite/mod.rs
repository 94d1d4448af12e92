//! The store of the embedded gateway: one SQLite file, one thread that writes, a few connections that read.

mod accept;
mod apply;
mod backlog;
mod catalogue;
mod checkpoint;
mod claim;
mod codec;
mod configs;
#[cfg(test)]
mod costs;
mod cursor;
mod delete_tenant;
mod deleted;
mod deliveries;
mod drains;
mod erase;
mod erasures;
mod events;
mod expire;
mod fault;
mod first_attempt;
mod give_back;
mod health;
mod history;
mod housekeeping;
mod interventions;
mod jobs;
mod keys;
#[cfg(test)]
mod list_costs;
mod locks;
mod mail_outbox;
mod memory;
mod migrate;
mod notifications;
mod open;
#[cfg(test)]
mod plans;
mod portal_links;
mod probes;
mod readers;
mod rejected;
mod rows;
mod schedule;
mod sealing;
mod sessions;
mod sources;
mod statements;
mod stats;
mod stepping;
mod tenants;
mod transfers;
mod unreadable;
mod vault;
mod vitals;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use postrider_ports::Result;
use postrider_store_format::Vault;

use expire::Expiry;
pub(crate) use fault::Fault;
use locks::Owners;
pub use locks::ServeLock;
pub(crate) use migrate::is_current;
pub use open::SqliteOptions;
use open::random;
pub(crate) use open::{FILE as DATABASE_FILE, create_private, private, settle};
pub use open::{make_private_directory, sync_name};
use readers::Readers;
pub use unreadable::describe_metrics;
pub(crate) use vault::{KEY_FILE, check_key};
use writer::Writer;

/// Everything that the embedded gateway stores, in one directory.
pub struct SqliteStore {
    // Dropped in this order: the writer's connection closes last and copies the log into the file, and writes that were
    // already queued finish while this process still holds its lock.
    readers: Readers,
    writer: Writer,
    vault: Arc<Vault>,
    owners: Arc<Owners>,
    expiry: Arc<Mutex<Expiry>>,
    flows: drains::Flows,
    file: PathBuf,
}

impl SqliteStore {
    /// Opens the store in `dir`, creating the directory if needed. An older database is migrated to the current schema;
    /// otherwise opening writes nothing. Blocks until done.
    ///
    /// # Errors
    /// If the directory cannot be used, the database was written by a newer version, or the key does not match.
    pub fn open(dir: &Path, options: SqliteOptions) -> Result<Arc<Self>> {
        Ok(Arc::new(open::open(dir, options)?))
    }

    /// The id of this process. Leases must use it as their owner: a lease in any other name is void immediately.
    #[must_use]
    pub fn process(&self) -> &str {
        self.owners.process()
    }

    /// Limits the file to this many pages while it is open: a write beyond them fails as on a full disk.
    pub async fn limit_pages(&self, pages: u32) -> Result<()> {
        let set = move |tx: &mut writer::Tx<'_, '_>| {
            Ok(tx.db().pragma_update(None, "max_page_count", pages)?)
        };
        self.writer.write(set).await
    }

    /// Takes the exclusive right to serve `dir`, creating the directory if needed, for as long as the returned value
    /// lives.
    ///
    /// # Errors
    /// If another process has it.
    pub fn lock_for_serving(dir: &Path) -> Result<ServeLock> {
        open::make_directory(dir)?;
        ServeLock::take(dir)
    }
}

impl std::fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteStore")
            .field("process", &self.process())
            .finish_non_exhaustive()
    }
}
