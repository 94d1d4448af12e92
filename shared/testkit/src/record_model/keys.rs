//! API keys: replaced by digest, revoked by id, and found without their tenant.

use postrider_domain::ids::KeyId;
use postrider_domain::key::{ApiKey, KeyDigest, Scope};
use proptest::prelude::*;

use super::Model;
use super::tenants::Exists;

#[derive(Clone, Debug)]
pub(super) enum KeyCommand {
    Put,
    /// Stores a key with a digest that is known, under its id or another one.
    Replace {
        key: usize,
        keeps_id: bool,
    },
    /// Stores a key with a digest that the other tenant knows.
    TakeOver {
        key: usize,
    },
    Revoke {
        key: usize,
    },
    Touch {
        key: usize,
    },
    /// Uses a key of the other tenant as if it were ours.
    Confuse {
        key: usize,
    },
}

pub(super) fn command() -> impl Strategy<Value = KeyCommand> {
    let number = any::<usize>;
    prop_oneof![
        5 => Just(KeyCommand::Put),
        2 => (number(), any::<bool>())
            .prop_map(|(key, keeps_id)| KeyCommand::Replace { key, keeps_id }),
        1 => number().prop_map(|key| KeyCommand::TakeOver { key }),
        4 => number().prop_map(|key| KeyCommand::Revoke { key }),
        3 => number().prop_map(|key| KeyCommand::Touch { key }),
        2 => number().prop_map(|key| KeyCommand::Confuse { key }),
    ]
}

#[derive(Default)]
pub(super) struct Keys {
    stored: Vec<ApiKey>,
    /// Every key that was ever stored.
    known: Vec<ApiKey>,
}

impl Keys {
    fn at(&self, n: usize) -> Option<ApiKey> {
        super::nth(&self.known, n).cloned()
    }

    fn put(&mut self, key: ApiKey) {
        self.known.push(key.clone());
        self.stored.push(key);
    }

    fn remove(&mut self, digest: KeyDigest) {
        self.stored.retain(|key| key.digest != digest);
    }
}

impl Model {
    pub(super) async fn do_with_keys(&mut self, command: &KeyCommand) -> Result<(), TestCaseError> {
        match *command {
            KeyCommand::Put => {
                let id = KeyId::from_bytes(self.unique());
                let key = self.key(id, KeyDigest::of(&id.to_string()));
                self.put_key(key).await
            }
            KeyCommand::Replace { key, keeps_id } => self.replace_key(key, keeps_id).await,
            KeyCommand::TakeOver { key } => self.take_over_key(key).await,
            KeyCommand::Revoke { key } => self.revoke_key(key).await,
            KeyCommand::Touch { key } => self.touch_key(key).await,
            KeyCommand::Confuse { key } => self.confuse_keys(key).await,
        }
    }

    fn key(&mut self, id: KeyId, digest: KeyDigest) -> ApiKey {
        let n = self.draw();
        let scopes = Scope::ALL.into_iter().take(n as usize % 4);
        ApiKey {
            id,
            tenant: self.ours.tenant.clone(),
            name: format!("key {n}"),
            scopes: scopes.collect(),
            digest,
            created_at: self.now,
            last_used_at: n.is_multiple_of(3).then_some(self.now),
        }
    }

    async fn put_key(&mut self, key: ApiKey) -> Result<(), TestCaseError> {
        self.ours.keys.remove(key.digest);
        self.theirs.keys.remove(key.digest);
        self.ours.keys.put(key.clone());
        self.ours.exists(Exists::Yes);
        prop_assert_eq!(self.store().put_key(key).await, Ok(()));
        Ok(())
    }

    async fn replace_key(&mut self, key: usize, keeps_id: bool) -> Result<(), TestCaseError> {
        let Some(known) = self.ours.keys.at(key) else {
            return Ok(());
        };
        let id = if keeps_id {
            known.id
        } else {
            KeyId::from_bytes(self.unique())
        };
        let key = self.key(id, known.digest);
        self.put_key(key).await
    }

    async fn take_over_key(&mut self, key: usize) -> Result<(), TestCaseError> {
        let Some(known) = self.theirs.keys.at(key) else {
            return Ok(());
        };
        let id = KeyId::from_bytes(self.unique());
        let key = self.key(id, known.digest);
        self.put_key(key).await
    }

    async fn revoke_key(&mut self, key: usize) -> Result<(), TestCaseError> {
        let Some(ApiKey { id, .. }) = self.ours.keys.at(key) else {
            return Ok(());
        };
        let stored = &mut self.ours.keys.stored;
        let place = stored.iter().position(|key| key.id == id);
        let existed = place.map(|place| stored.remove(place)).is_some();
        let revoked = self.store().revoke_key(&self.ours.tenant, id).await;
        prop_assert_eq!(revoked, Ok(existed));
        Ok(())
    }

    async fn touch_key(&mut self, key: usize) -> Result<(), TestCaseError> {
        let Some(used) = self.ours.keys.at(key) else {
            return Ok(());
        };
        let at = self.now;
        let mut stored = self.ours.keys.stored.iter_mut();
        if let Some(stored) = stored.find(|key| key.id == used.id) {
            stored.last_used_at = Some(at);
        }
        prop_assert_eq!(self.store().touch_key(&used, at).await, Ok(()));
        Ok(())
    }

    async fn confuse_keys(&self, key: usize) -> Result<(), TestCaseError> {
        let Some(theirs) = self.theirs.keys.at(key) else {
            return Ok(());
        };
        let (store, us) = (self.store(), &self.ours.tenant);
        prop_assert_eq!(store.revoke_key(us, theirs.id).await, Ok(false));
        let forged = ApiKey {
            tenant: us.clone(),
            ..theirs
        };
        let touched = store.touch_key(&forged, self.now).await;
        prop_assert_eq!(touched, Ok(()));
        Ok(())
    }

    pub(super) async fn compare_keys(&self) -> Result<(), TestCaseError> {
        let (store, Keys { stored, known }) = (self.store(), &self.ours.keys);
        let found = store.keys(&self.ours.tenant).await.unwrap();
        prop_assert!(found.is_sorted_by_key(|key| key.created_at), "{:?}", found);
        prop_assert_eq!(by_id(&found), by_id(stored));
        for ApiKey { digest, .. } in known {
            let mut all = stored.iter().chain(&self.theirs.keys.stored);
            let expected = all.rfind(|key| key.digest == *digest);
            let found = store.key_by_digest(*digest).await.unwrap();
            prop_assert_eq!(found.as_ref(), expected);
        }
        Ok(())
    }
}

fn by_id(keys: &[ApiKey]) -> Vec<ApiKey> {
    let mut keys = keys.to_vec();
    keys.sort_by_key(|key| key.id);
    keys
}
