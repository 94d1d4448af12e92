//! API keys: create, find, list and revoke.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use postrider_domain::ids::{KeyId, TenantId};
use postrider_domain::invalid::Invalid;
use postrider_domain::key::{ApiKey, KeyDigest, Scope};
use postrider_domain::time::{Millis, Timestamp};
use postrider_domain::webhook::{MAX_NAME_CHARS, is_name};
use postrider_ports::configs::ApiKeys;
use postrider_ports::first_key::FirstKey;

use crate::{GatewayError, Ports};

/// The maximum number of keys per tenant.
pub const MAX_KEYS: usize = 100;
/// How long a key is cached before the store is asked again.
const FRESH_FOR: Millis = Millis::from_seconds(5);
/// The precision of a key's last use. On AWS each note of it is a billed write.
pub const LAST_USE_PRECISION: Millis = Millis::from_seconds(600);

/// The name of the key that comes with a deployment.
const FIRST_KEY: &str = "POSTRIDER_FIRST_KEY_SECRET";
/// The name of the key that comes from the environment of the embedded gateway.
pub const ADMIN_KEY: &str = "POSTRIDER_ADMIN_TOKEN";

/// A created key with its token.
#[derive(Debug)]
pub struct NewKey {
    pub key: ApiKey,
    /// Shown only once; the store has its digest.
    pub token: String,
}

struct Known {
    key: Arc<ApiKey>,
    checked_at: Timestamp,
}

pub struct Keyring {
    ports: Ports<dyn ApiKeys>,
    known: Mutex<HashMap<KeyDigest, Known>>,
    /// A key from outside the store that is accepted as well.
    first: OnceLock<Arc<dyn FirstKey>>,
    /// How often a key was revoked here. A key that was read before a revocation is not cached after it.
    revocations: AtomicU64,
}

impl Keyring {
    pub(crate) fn new(ports: impl Into<Ports<dyn ApiKeys>>) -> Self {
        Self {
            ports: ports.into(),
            known: Mutex::default(),
            first: OnceLock::new(),
            revocations: AtomicU64::new(0),
        }
    }

    /// Accepts the deployment's first key. On first use it is stored with all scopes for the default tenant.
    pub fn welcome(&self, first: Arc<dyn FirstKey>) {
        // Called at most once; a second call has no effect.
        let _ = self.first.set(first);
    }

    /// The key with this token, unless it was revoked.
    pub async fn recognise(&self, token: &str) -> Result<Option<Arc<ApiKey>>, GatewayError> {
        self.known_or(KeyDigest::of(token), Some(token)).await
    }

    /// The key with this digest, unless it was revoked: for a session whose user logged in with that key.
    pub async fn recognise_again(
        &self,
        digest: KeyDigest,
    ) -> Result<Option<Arc<ApiKey>>, GatewayError> {
        self.known_or(digest, None).await
    }

    async fn known_or(
        &self,
        digest: KeyDigest,
        token: Option<&str>,
    ) -> Result<Option<Arc<ApiKey>>, GatewayError> {
        let now = self.ports.clock.now();
        if let Some(known) = self.known.lock().get(&digest)
            && known.checked_at <= now
            && now.since(known.checked_at) <= FRESH_FOR
        {
            return Ok(Some(Arc::clone(&known.key)));
        }
        let revocations = self.revocations.load(Ordering::Acquire);
        let Some(mut key) = self.find(digest, token).await? else {
            self.known.lock().remove(&digest);
            return Ok(None);
        };
        if key
            .last_used_at
            .is_none_or(|at| at.plus(LAST_USE_PRECISION).is_due(now, LAST_USE_PRECISION))
        {
            // A full disk must not lock readers out: if this write fails, a later request records the use.
            if self.ports.store.touch_key(&key, now).await.is_ok() {
                key.last_used_at = Some(now);
            }
        }
        let key = Arc::new(key);
        let mut known = self.known.lock();
        if self.revocations.load(Ordering::Acquire) == revocations {
            known.insert(
                digest,
                Known {
                    key: Arc::clone(&key),
                    checked_at: now,
                },
            );
        }
        Ok(Some(key))
    }

    async fn find(
        &self,
        digest: KeyDigest,
        token: Option<&str>,
    ) -> Result<Option<ApiKey>, GatewayError> {
        let stored = self.ports.store.key_by_digest(digest).await?;
        let (None, Some(first), Some(token)) = (&stored, self.first.get(), token) else {
            return Ok(stored.filter(is_valid));
        };
        if !first.is_first(token).await? {
            return Ok(None);
        }
        let tenant = TenantId::default();
        let adopted = self.replace(&tenant, FIRST_KEY, token.to_owned()).await?;
        Ok(Some(adopted.key))
    }

    /// Whether this is a key from outside the store that was revoked.
    pub async fn is_revoked(&self, token: &str) -> Result<bool, GatewayError> {
        let stored = self.ports.store.key_by_digest(KeyDigest::of(token)).await?;
        Ok(stored.is_some_and(|key| !is_valid(&key)))
    }

    pub async fn create(
        &self,
        tenant: &TenantId,
        name: &str,
        scopes: Vec<Scope>,
    ) -> Result<NewKey, GatewayError> {
        let token = format!("prk_{}", hex(&self.ports.entropy.bytes::<32>()));
        self.adopt(tenant, name, scopes, token).await
    }

    /// Stores a key with the given token.
    pub async fn adopt(
        &self,
        tenant: &TenantId,
        name: &str,
        mut scopes: Vec<Scope>,
        token: String,
    ) -> Result<NewKey, GatewayError> {
        let mut faults = Invalid::default();
        let name = name.trim();
        faults.require(is_name(name), "name", || {
            format!("must be 1 to {MAX_NAME_CHARS} characters")
        });
        faults.require(!scopes.is_empty(), "scopes", || {
            "must name at least one of publish, read, manage".to_owned()
        });
        faults.into_result()?;
        scopes.sort_unstable();
        scopes.dedup();
        if self.list(tenant).await?.len() >= MAX_KEYS {
            return Err(GatewayError::TooMany {
                limit: MAX_KEYS,
                what: "keys",
            });
        }
        let now = self.ports.clock.now();
        let key = ApiKey {
            id: KeyId::new(now, &self.ports.entropy.bytes()),
            tenant: tenant.clone(),
            name: name.to_owned(),
            scopes,
            digest: KeyDigest::of(&token),
            created_at: now,
            last_used_at: None,
        };
        self.ports.store.put_key(key.clone()).await?;
        Ok(NewKey { key, token })
    }

    /// Stores a key with the given token and all scopes. It replaces all valid keys of the same name; those that were revoked
    /// stay revoked.
    pub async fn replace(
        &self,
        tenant: &TenantId,
        name: &str,
        token: String,
    ) -> Result<NewKey, GatewayError> {
        for old in self.list(tenant).await? {
            if old.name == name {
                self.ports.store.revoke_key(tenant, old.id).await?;
            }
        }
        self.forget();
        self.adopt(tenant, name, Scope::ALL.to_vec(), token).await
    }

    /// Without revoked keys.
    pub async fn list(&self, tenant: &TenantId) -> Result<Vec<ApiKey>, GatewayError> {
        let keys = self.ports.store.keys(tenant).await?;
        Ok(keys.into_iter().filter(is_valid).collect())
    }

    /// Revokes a key: immediately in this process, within 5 seconds in others. A key that comes from outside
    /// the store stays in it without scopes; otherwise its next use, or the next start, would store it as a new key.
    pub async fn revoke(&self, tenant: &TenantId, id: KeyId) -> Result<(), GatewayError> {
        let keys = self.list(tenant).await?;
        let Some(key) = keys.into_iter().find(|key| key.id == id) else {
            return Err(GatewayError::NotFound { what: "key" });
        };
        if [FIRST_KEY, ADMIN_KEY].contains(&key.name.as_str()) {
            let scopes = Vec::new();
            self.ports.store.put_key(ApiKey { scopes, ..key }).await?;
        } else {
            self.ports.store.revoke_key(tenant, id).await?;
        }
        self.forget();
        Ok(())
    }

    /// Makes this process ask the store again for every key.
    pub fn forget(&self) {
        let mut known = self.known.lock();
        known.clear();
        self.revocations.fetch_add(1, Ordering::AcqRel);
    }
}

/// A key without scopes is revoked.
fn is_valid(key: &ApiKey) -> bool {
    !key.scopes.is_empty()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
