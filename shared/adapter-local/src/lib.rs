//! The store of the embedded gateway: everything in one directory, in one SQLite file.

pub mod sqlite;

pub use sqlite::{ServeLock, SqliteOptions, SqliteStore};
