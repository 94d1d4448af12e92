//! The keys that secrets are sealed with: one for each tenant, stored encrypted under a key of KMS, decrypted once per
//! process.

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

/// Said to KMS in every call, so that one tenant's data key cannot pass for another's; CloudTrail shows it.
const CONTEXT: &str = "tenant";
const CIPHERTEXT: &str = "ciphertext";

/// The data keys of the tenants that this process has met.
pub struct DataKeys {
    kms: aws_sdk_kms::Client,
    key: String,
    known: Mutex<HashMap<TenantId, Arc<Vault>>>,
}

impl DataKeys {
    /// Data keys encrypted under the KMS key with this id or ARN. Calls nobody yet.
    #[must_use]
    pub fn new(kms: aws_sdk_kms::Client, key: String) -> Self {
        Self {
            kms,
            key,
            known: Mutex::default(),
        }
    }

    /// A fresh data key: its vault, and what is stored of it.
    async fn generate(&self, tenant: &TenantId) -> Result<(Vault, Vec<u8>)> {
        let call = self.kms.generate_data_key().key_id(&self.key);
        let call = call.key_spec(DataKeySpec::Aes256);
        let call = call.encryption_context(CONTEXT, tenant.as_str());
        let answer = call.send().await.map_err(|error| fault::of(&error))?;
        let made = vault(answer.plaintext)?;
        let ciphertext = answer.ciphertext_blob.map(Blob::into_inner);
        Ok((made, ciphertext.ok_or_else(unusable)?))
    }

    /// The vault of a stored data key.
    async fn decrypt(&self, tenant: &TenantId, ciphertext: Vec<u8>) -> Result<Vault> {
        let call = self.kms.decrypt().key_id(&self.key);
        let call = call.ciphertext_blob(Blob::new(ciphertext));
        let call = call.encryption_context(CONTEXT, tenant.as_str());
        let answer = call.send().await.map_err(|error| fault::of(&error))?;
        vault(answer.plaintext)
    }

    fn keep(&self, tenant: &TenantId, vault: Vault) -> Arc<Vault> {
        let mut known = self.known.lock();
        // Two that asked at once were given the same key.
        Arc::clone(
            known
                .entry(tenant.clone())
                .or_insert_with(|| Arc::new(vault)),
        )
    }
}

impl DynamoStore {
    /// The vault of a tenant that has sealed something.
    pub(super) async fn vault(&self, tenant: &TenantId) -> Result<Arc<Vault>> {
        let found = self.known_vault(tenant).await?;
        found.ok_or_else(|| Error::Broken("the tenant's data key is missing".to_owned()))
    }

    /// The vault of a tenant that is about to seal something; a first one is made. Of two who make it at once, one
    /// stores it and the other takes that.
    pub(super) async fn vault_for_sealing(&self, tenant: &TenantId) -> Result<Arc<Vault>> {
        if let Some(known) = self.known_vault(tenant).await? {
            return Ok(known);
        }
        let (vault, ciphertext) = self.data_keys.generate(tenant).await?;
        let mut item = Key::data_key(tenant).item();
        let stored = AttributeValue::B(Blob::new(ciphertext));
        item.insert(CIPHERTEXT.to_owned(), stored);
        let first = Condition::new("attribute_not_exists(#pk)");
        if self.put(Table::Configs, item, Some(first)).await? {
            return Ok(self.data_keys.keep(tenant, vault));
        }
        self.vault(tenant).await
    }

    /// The vault of a tenant, if it has sealed something.
    pub(super) async fn known_vault(&self, tenant: &TenantId) -> Result<Option<Arc<Vault>>> {
        let known = self.data_keys.known.lock().get(tenant).map(Arc::clone);
        if known.is_some() {
            return Ok(known);
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
        Ok(Some(self.data_keys.keep(tenant, vault)))
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
