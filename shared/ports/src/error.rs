use serde::{Deserialize, Serialize};

pub type Result<T> = std::result::Result<T, Error>;

/// The gateway could not do its work. A receiver's failure is never one of these.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum Error {
    /// It may succeed later: the disk is full, the file is locked, the service throttles.
    #[error("temporarily unavailable: {0}")]
    Unavailable(String),
    /// Not a cursor of this store.
    #[error("not a cursor of this list")]
    InvalidCursor,
    /// It will not succeed without intervention: stored data cannot be read, or a key does not match.
    #[error("{0}")]
    Broken(String),
}

impl Error {
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        match self {
            Self::Unavailable(_) => true,
            Self::InvalidCursor | Self::Broken(_) => false,
        }
    }
}
