//! The file that `postrider export` writes: JSON Lines, one record per line. Secrets, header values and the digests of API
//! keys are sealed with a key that is derived from a passphrase; everything else is readable.

mod config;
mod event;
mod event_type;
mod header;
mod key;
mod tenant;

pub use config::{KeyRecord, SourceRecord, WebhookRecord};
pub use event::{DeliveryRecord, EventRecord};
pub use event_type::EventTypeRecord;
pub use header::{
    CursorLine, End, Header, HeaderError, KeyDerivation, KindOnly, LINE_CURSOR, LINE_END,
    LINE_HEADER, VERSION,
};
pub use key::{SALT_BYTES, TransferKey};
pub use tenant::TenantRecord;

use data_encoding::BASE64;
use postrider_domain::ids::TenantId;
use postrider_domain::invalid::Invalid;
use postrider_ports::{Error, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use zeroize::Zeroizing;

use crate::Vault;

/// Kinds of records.
pub const WEBHOOK: &str = "webhook";
pub const SOURCE: &str = "source";
pub const KEY: &str = "key";
pub const TENANT: &str = "tenant";
pub const EVENT_TYPE: &str = "event_type";
pub const EVENT: &str = "event";

/// Seals the secret part of a record. It opens only in a record of the same kind, tenant and id.
fn seal<T: Serialize>(
    vault: &Vault,
    kind: &str,
    tenant: &TenantId,
    id: &str,
    secret: &T,
) -> Result<String> {
    let plain = serde_json::to_vec(secret).map(Zeroizing::new);
    let plain = plain.map_err(|error| Error::Broken(error.to_string()))?;
    let sealed = vault.seal(&about(kind, tenant, id), &plain)?;
    Ok(BASE64.encode(&sealed))
}

fn unseal<T: DeserializeOwned>(
    vault: &Vault,
    kind: &str,
    tenant: &TenantId,
    id: &str,
    sealed: &str,
) -> std::result::Result<T, Invalid> {
    let unfit = || Invalid::field("sealed", "was changed, or sealed with another passphrase");
    let sealed = BASE64.decode(sealed.as_bytes()).map_err(|_| unfit())?;
    let plain = vault.unseal(&about(kind, tenant, id), &sealed);
    let plain = plain.map_err(|_| unfit())?;
    serde_json::from_slice(&plain).map_err(|_| unreadable("sealed"))
}

fn about(kind: &str, tenant: &TenantId, id: &str) -> Vec<u8> {
    ["moved", kind, tenant.as_str(), id].join("\0").into_bytes()
}

fn unreadable(field: &str) -> Invalid {
    Invalid::field(field, "was written by a newer version, or is damaged")
}
