//! What can go wrong between us and the file, and what a caller of a port is told of it.

use postrider_ports::Error;
use rusqlite::ErrorCode;

/// A call on the database failed, or what it holds cannot be understood.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    /// SQLite said so.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// A stored value is not what this program writes.
    #[error("{0}")]
    Unreadable(String),
    /// A verb's own answer, passed through.
    #[error(transparent)]
    Port(#[from] Error),
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Sqlite(error) => of_sqlite(&error),
            Fault::Unreadable(what) => Self::Broken(format!("the database cannot be read: {what}")),
            Fault::Port(error) => error,
        }
    }
}

/// Full disks, failing disks and locked files may recover: the caller is told to come again. Everything else will not
/// go away by itself.
fn of_sqlite(error: &rusqlite::Error) -> Error {
    let said = format!("database: {error}");
    match error.sqlite_error_code() {
        Some(
            ErrorCode::DiskFull
            | ErrorCode::SystemIoFailure
            | ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::CannotOpen
            | ErrorCode::FileLockingProtocolFailed
            | ErrorCode::OutOfMemory
            | ErrorCode::OperationInterrupted
            | ErrorCode::OperationAborted
            | ErrorCode::ReadOnly,
        ) => Error::Unavailable(said),
        Some(_) | None => Error::Broken(said),
    }
}

impl Fault {
    /// Puts a failed call on the file system beside the database into words.
    pub(super) fn io(what: &str, path: &std::path::Path, error: &std::io::Error) -> Self {
        Self::Port(Error::Unavailable(format!(
            "{what} {}: {error}",
            path.display()
        )))
    }
}
