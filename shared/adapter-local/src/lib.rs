//! SQLite store, in-process queue and notices for the embedded gateway.

pub mod sqlite;

pub use sqlite::{Options, ServeLock, SqliteStore};
