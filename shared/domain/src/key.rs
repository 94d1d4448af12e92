//! API keys: what they may do, and how they are stored.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::ids::{KeyId, TenantId};
use crate::time::Timestamp;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    Publish,
    Read,
    /// Includes [`Scope::Read`].
    Manage,
}

impl Scope {
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

/// A stored key: its digest, never the key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiKey {
    /// Used to list and revoke the key.
    pub id: KeyId,
    pub tenant: TenantId,
    pub name: String,
    pub scopes: Vec<Scope>,
    pub digest: KeyDigest,
    pub created_at: Timestamp,
    /// To the minute.
    pub last_used_at: Option<Timestamp>,
}

impl ApiKey {
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
    #[must_use]
    pub fn of(token: &str) -> Self {
        Self(Sha256::digest(token.as_bytes()).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(scopes: &[Scope]) -> ApiKey {
        ApiKey {
            id: KeyId::from_bytes([1; 16]),
            tenant: TenantId::default(),
            name: "ci".to_owned(),
            scopes: scopes.to_vec(),
            digest: KeyDigest::of("token"),
            created_at: Timestamp::ZERO,
            last_used_at: None,
        }
    }

    #[test]
    fn scopes_have_the_names_of_the_api() {
        assert_eq!(Scope::ALL.map(Scope::as_str), ["publish", "read", "manage"]);
    }

    #[test]
    fn a_key_allows_its_scopes_and_managing_includes_reading() {
        for (given, allowed) in [
            (Scope::Publish, [true, false, false]),
            (Scope::Read, [false, true, false]),
            (Scope::Manage, [false, true, true]),
        ] {
            let key = key(&[given]);
            assert_eq!(
                Scope::ALL.map(|scope| key.allows(scope)),
                allowed,
                "{given:?}"
            );
        }
    }
}
