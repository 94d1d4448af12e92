//! API keys: what they may do, and how they are kept.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::ids::{KeyId, TenantId};
use crate::time::Timestamp;

/// What a key may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Publish events.
    Publish,
    /// Look at everything.
    Read,
    /// Change everything, and look at it.
    Manage,
}

impl Scope {
    /// Every scope.
    pub const ALL: [Self; 3] = [Self::Publish, Self::Read, Self::Manage];

    /// The name used in the API.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Publish => "publish",
            Self::Read => "read",
            Self::Manage => "manage",
        }
    }
}

/// A key as it is kept: its digest, never the key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiKey {
    /// The id it is listed and revoked by.
    pub id: KeyId,
    /// Whose data it opens.
    pub tenant: TenantId,
    /// What people call it.
    pub name: String,
    /// What it may do.
    pub scopes: Vec<Scope>,
    /// The SHA-256 of the key.
    pub digest: KeyDigest,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was used last, to the minute.
    pub last_used_at: Option<Timestamp>,
}

impl ApiKey {
    /// Whether the key may do this.
    #[must_use]
    pub fn allows(&self, needed: Scope) -> bool {
        self.scopes.contains(&needed)
            || (needed == Scope::Read && self.scopes.contains(&Scope::Manage))
    }
}

/// The SHA-256 of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct KeyDigest(pub [u8; 32]);

impl KeyDigest {
    /// The digest of a key as presented.
    #[must_use]
    pub fn of(token: &str) -> Self {
        Self(Sha256::digest(token.as_bytes()).into())
    }
}
