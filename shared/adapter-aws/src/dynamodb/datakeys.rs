//! The keys that secrets are sealed with: one for each tenant, stored encrypted under a key of KMS, decrypted once per
//! process.

use std::collections::HashMap;
use std::sync::Arc;

use aws_sdk_dynamodb::types::AttributeValue;
use aws_sdk_kms::primitives::Blob;
use aws_sdk_kms::types::DataKeySpec;
use parking_lot::Mutex;
use postrider_domain::ids::TenantId;
use postrider_ports::{Error, Result};
use postrider_sealed::{KEY_BYTES, Vault};
use zeroize::Zeroizing;

use super::calls::{self, Put};
use super::item::{self, Item};
use super::{DynamoStore, keys};
use crate::fault;

/// Names the tenant in every call, so that one tenant's data key cannot pass for another's; seen in CloudTrail.
const CONTEXT: &str = "tenant";
const CIPHERTEXT: &str = "ciphertext";

/// The data keys of the tenants that this process has met.
pub struct DataKeys {
    kms: aws_sdk_kms::Client,
    key: String,
    known: Mutex<HashMap<TenantId, Arc<Vault>>>,
}
