//! The SQLite store of the embedded gateway: one directory that holds one database file, one key file and the lock
//! files.
//!
//! Two rules shape most of the design. A call returns `Ok` only after its commit is on disk: a single thread writes,
//! groups whatever has queued up into one transaction, and answers its callers after the sync. And a lease is only as
//! good as the process behind it: every process holds an operating-system lock, so after a crash the rows it had
//! claimed are free at once, without waiting for a lease to run out.
//!
//! Secrets, header values and the content of rejected requests are encrypted with `secret.key`; an operator can read
//! the rest with a SQLite shell. `backup` copies all of it while the gateway runs, and restores it.
//!
//! Start with `sqlite/schema.sql`, then follow one delivery through `accept.rs`, `claim.rs` and `apply.rs`. `writer.rs`
//! explains the group commit, `locks.rs` the leases, and `plans.rs` checks that every frequent query uses its index.

pub mod backup;
pub mod sqlite;

pub use sqlite::{
    ServeLock, SqliteOptions, SqliteStore, describe_metrics, make_private_directory, sync_name,
};
