use serde::{Deserialize, Serialize};

/// What a port returns.
pub type Result<T> = std::result::Result<T, Error>;

/// We could not do our work. A receiver's failure is never one of these.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum Error {
    /// It may go through later: the disk is full, the file is locked, the service throttles.
    #[error("temporarily unavailable: {0}")]
    Unavailable(String),
    /// A cursor that this store did not make.
    #[error("not a cursor of this list")]
    InvalidCursor,
    /// It will not go through by itself: what is stored cannot be read, a key does not fit.
    #[error("{0}")]
    Broken(String),
}

impl Error {
    /// Whether the same call may succeed later.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        match self {
            Self::Unavailable(_) => true,
            Self::InvalidCursor | Self::Broken(_) => false,
        }
    }
}
