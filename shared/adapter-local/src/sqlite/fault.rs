//! Errors of the database file, and the port errors they become.

use postrider_ports::Error;
use rusqlite::ErrorCode;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// A stored value is not one that this version writes.
    #[error("{0}")]
    Unreadable(String),
    /// A port error, passed through.
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

/// Full disks, failing disks and locked files may recover, so the caller is asked to retry. Everything else needs an
/// operator.
fn of_sqlite(error: &rusqlite::Error) -> Error {
    let message = format!("database: {error}");
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
        ) => Error::Unavailable(message),
        Some(_) | None => Error::Broken(message),
    }
}

impl Fault {
    /// Whether one stored value is at fault, not the database.
    pub(super) fn is_unreadable(&self) -> bool {
        match self {
            Self::Unreadable(_) | Self::Port(Error::Broken(_)) => true,
            Self::Sqlite(error) => matches!(
                error,
                rusqlite::Error::FromSqlConversionFailure(..)
                    | rusqlite::Error::IntegralValueOutOfRange(..)
                    | rusqlite::Error::InvalidColumnType(..)
            ),
            Self::Port(Error::Unavailable(_) | Error::InvalidCursor) => false,
        }
    }

    /// A failed file system call as a port error.
    pub(crate) fn io(what: &str, path: &std::path::Path, error: &std::io::Error) -> Self {
        Self::Port(Error::Unavailable(format!(
            "{what} {}: {error}",
            path.display()
        )))
    }
}
