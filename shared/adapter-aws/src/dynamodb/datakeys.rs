//! The keys that seal secrets: one per tenant, stored encrypted under a KMS key and decrypted once per process.

use std::collections::HashMap;
use std::sync::Arc;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use aws_sdk_kms::types::DataKeySpec;
use parking_lot::Mutex;
use postrider_domain::ids::TenantId;
use postrider_ports::{Error, Result};
use postrider_store_format::{KEY_BYTES, Vault};
use zeroize::Zeroizing;

use super::DynamoStore;
use super::calls::{Condition, Table};
use super::keys::Key;
use crate::fault::{self, unreadable};

/// Passed to KMS in every call, so that one tenant's data key cannot be used for another; visible in CloudTrail.
const CONTEXT: &str = "tenant";
const CIPHERTEXT: &str = "ciphertext";

/// The data keys of the tenants that this process has seen.
pub struct DataKeys {
    kms: aws_sdk_kms::Client,
    key: String,
    cache: Mutex<HashMap<TenantId, Arc<Vault>>>,
}

impl DataKeys {
    /// Uses the KMS key with this id or ARN. Makes no call yet.
    #[must_use]
    pub fn new(kms: aws_sdk_kms::Client, key: String) -> Self {
        Self {
            kms,
            key,
            cache: Mutex::default(),
        }
    }

    /// A new data key: its vault, and the ciphertext to store.
    async fn generate(&self, tenant: &TenantId) -> Result<(Vault, Vec<u8>)> {
        let call = self.kms.generate_data_key().key_id(&self.key);
        let call = call.key_spec(DataKeySpec::Aes256);
        let call = call.encryption_context(CONTEXT, tenant.as_str());
        let answer = call.send().await.map_err(|error| fault::of(&error))?;
        let made = vault(answer.plaintext)?;
        let ciphertext = answer.ciphertext_blob.map(Blob::into_inner);
        Ok((made, ciphertext.ok_or_else(unusable)?))
    }

    async fn decrypt(&self, tenant: &TenantId, ciphertext: Vec<u8>) -> Result<Vault> {
        let call = self.kms.decrypt().key_id(&self.key);
        let call = call.ciphertext_blob(Blob::new(ciphertext));
        let call = call.encryption_context(CONTEXT, tenant.as_str());
        let answer = call.send().await.map_err(|error| fault::of(&error))?;
        vault(answer.plaintext)
    }

    fn remember(&self, tenant: &TenantId, vault: Vault) -> Arc<Vault> {
        let mut cache = self.cache.lock();
        // Two concurrent requests received the same key.
        Arc::clone(
            cache
                .entry(tenant.clone())
                .or_insert_with(|| Arc::new(vault)),
        )
    }
}

impl DynamoStore {
    pub(super) async fn vault(&self, tenant: &TenantId) -> Result<Arc<Vault>> {
        let found = self.existing_vault(tenant).await?;
        found.ok_or_else(|| Error::Broken("the tenant's data key is missing".to_owned()))
    }

    /// The vault of a tenant that is about to seal something; the first call creates it. Of two concurrent calls, one
    /// stores its key and the other uses that.
    pub(super) async fn vault_for_sealing(&self, tenant: &TenantId) -> Result<Arc<Vault>> {
        if let Some(vault) = self.existing_vault(tenant).await? {
            return Ok(vault);
        }
        let (vault, ciphertext) = self.data_keys.generate(tenant).await?;
        let mut item = Key::data_key(tenant).item();
        let stored = AttributeValue::B(Blob::new(ciphertext));
        item.insert(CIPHERTEXT.to_owned(), stored);
        let first = Condition::new("attribute_not_exists(#pk)");
        if self.put(Table::Configs, item, Some(first)).await? {
            return Ok(self.data_keys.remember(tenant, vault));
        }
        self.vault(tenant).await
    }

    /// The vault of a tenant, if it has sealed something.
    pub(super) async fn existing_vault(&self, tenant: &TenantId) -> Result<Option<Arc<Vault>>> {
        let cached = self.data_keys.cache.lock().get(tenant).map(Arc::clone);
        if cached.is_some() {
            return Ok(cached);
        }
        let key = Key::data_key(tenant);
        let Some(mut item) = self.get(Table::Configs, &key).await? else {
            return Ok(None);
        };
        let stored = match item.remove(CIPHERTEXT) {
            Some(AttributeValue::B(ciphertext)) => ciphertext.into_inner(),
            Some(_) | None => return Err(unreadable("a data key")),
        };
        let vault = self.data_keys.decrypt(tenant, stored).await?;
        Ok(Some(self.data_keys.remember(tenant, vault)))
    }
}

fn vault(plaintext: Option<Blob>) -> Result<Vault> {
    let plain = Zeroizing::new(plaintext.map(Blob::into_inner).unwrap_or_default());
    let key: &[u8; KEY_BYTES] = plain.as_slice().try_into().map_err(|_| unusable())?;
    Vault::with_key(key)
}

fn unusable() -> Error {
    Error::Broken("KMS answered without a usable data key".to_owned())
}
