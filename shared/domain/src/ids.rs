//! Ids. Opaque to callers; order comes from `created_at` alone.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use data_encoding::{Encoding, Specification};
use sha2::{Digest, Sha256};
use std::sync::LazyLock;
use uuid::Uuid;

use crate::time::Timestamp;

/// Lower-case base32 without padding; trailing bits must be zero, so each id has one spelling.
#[expect(
    clippy::expect_used,
    reason = "a constant specification, covered by every test that prints an id"
)]
static BASE32: LazyLock<Encoding> = LazyLock::new(|| {
    let mut spec = Specification::new();
    spec.symbols.push_str("abcdefghijklmnopqrstuvwxyz234567");
    spec.encoding().expect("valid base32 alphabet")
});

/// The text is not an id of the expected kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is not a valid id: expected `{prefix}` and {chars} characters")]
pub struct IdError {
    prefix: &'static str,
    chars: usize,
}

fn decode<const N: usize>(text: &str, prefix: &'static str) -> Result<[u8; N], IdError> {
    text.strip_prefix(prefix)
        .and_then(|rest| BASE32.decode(rest.as_bytes()).ok())
        .and_then(|bytes| bytes.try_into().ok())
        .ok_or(IdError {
            prefix,
            chars: (N * 8).div_ceil(5),
        })
}

/// The ten random bytes of a new time-ordered id. Randomness comes in at the edge.
pub type IdEntropy = [u8; 10];

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name([u8; 16]);

        impl $name {
            /// The prefix of the written form.
            pub const PREFIX: &'static str = $prefix;

            /// A new id: a UUIDv7 of this time and these random bytes.
            #[must_use]
            pub fn new(now: Timestamp, entropy: &IdEntropy) -> Self {
                let ms = u64::try_from(now.as_millis()).unwrap_or(0);
                Self(*uuid::Builder::from_unix_timestamp_millis(ms, entropy).into_uuid().as_bytes())
            }

            #[must_use]
            pub const fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(bytes)
            }

            #[must_use]
            pub const fn as_bytes(&self) -> &[u8; 16] {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}{}", $prefix, BASE32.encode_display(&self.0))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                decode(text, $prefix).map(Self)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(from)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

id!(
    /// An outbound destination.
    WebhookId, "wh_"
);
id!(
    /// An inbound sender.
    SourceId, "src_"
);
id!(
    /// One accepted event.
    EventId, "evt_"
);
id!(
    /// A stored rejected request.
    RejectedId, "rfd_"
);
id!(
    /// A long-running job, such as a bulk retry.
    JobId, "job_"
);
id!(
    /// An erasure, or the deletion of a tenant.
    ErasureId, "ers_"
);
id!(
    /// An API key, as it is listed; never the key itself.
    KeyId, "key_"
);

impl SourceId {
    /// No source has this id: it is not a UUIDv7. A request to an unknown source is looked up, stored and counted under
    /// it like any other, in the same tables and with the same writes, so that the response time does not reveal which
    /// sources exist. An `Option` would give such requests a separate code path.
    pub const UNKNOWN: Self = Self([0; 16]);
}

impl EventId {
    /// The id of an event that came with a key: the same tenant, scope and key always give the same id, so that a
    /// repeated call finds the first one.
    #[must_use]
    pub fn keyed(tenant: &TenantId, scope: &str, key: &str) -> Self {
        let mut hash = Sha256::new();
        for part in [tenant.as_str(), scope, key] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part.as_bytes());
        }
        let digest: [u8; 32] = hash.finalize().into();
        Self(
            *Uuid::from_slice(digest.get(..16).unwrap_or(&[0; 16]))
                .unwrap_or_default()
                .as_bytes(),
        )
    }
}

/// One event for one webhook. Decoding it gives both, so no index is needed to find the row.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeliveryId {
    pub event: EventId,
    pub webhook: WebhookId,
}

impl DeliveryId {
    /// The prefix of the written form.
    pub const PREFIX: &'static str = "dlv_";
}

impl fmt::Display for DeliveryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = [0; 32];
        let (event, webhook) = bytes.split_at_mut(16);
        event.copy_from_slice(self.event.as_bytes());
        webhook.copy_from_slice(self.webhook.as_bytes());
        write!(f, "dlv_{}", BASE32.encode_display(&bytes))
    }
}

impl fmt::Debug for DeliveryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for DeliveryId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let bytes: [u8; 32] = decode(text, "dlv_")?;
        let (mut event, mut webhook) = ([0; 16], [0; 16]);
        let (left, right) = bytes.split_at(16);
        event.copy_from_slice(left);
        webhook.copy_from_slice(right);
        Ok(Self {
            event: EventId(event),
            webhook: WebhookId(webhook),
        })
    }
}

impl serde::Serialize for DeliveryId {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for DeliveryId {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(from)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// The owner of everything else: 1 to 64 of `a-z 0-9 - _`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TenantId(Arc<str>);

impl TenantId {
    /// The tenant that always exists.
    pub const DEFAULT: &'static str = "default";

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for TenantId {
    fn default() -> Self {
        Self(Self::DEFAULT.into())
    }
}

/// The text cannot be the name of a tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be 1 to 64 characters out of a-z, 0-9, `-` and `_`")]
pub struct TenantIdError;

impl FromStr for TenantId {
    type Err = TenantIdError;

    fn from_str(text: &str) -> Result<Self, TenantIdError> {
        let fits = (1..=64).contains(&text.len())
            && text
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_');
        if fits {
            Ok(Self(text.into()))
        } else {
            Err(TenantIdError)
        }
    }
}

impl fmt::Display for TenantId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl serde::Serialize for TenantId {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.0)
    }
}

impl<'de> serde::Deserialize<'de> for TenantId {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(from)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl fmt::Debug for TenantId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_delivery_id_decodes_to_its_parts(event: [u8; 16], webhook: [u8; 16]) {
            let id = DeliveryId { event: EventId::from_bytes(event), webhook: WebhookId::from_bytes(webhook) };
            prop_assert_eq!(id.to_string().parse(), Ok(id));
            prop_assert_eq!(id.event.to_string().parse(), Ok(id.event));
        }

        #[test]
        fn no_text_makes_an_id_panic(text: String) {
            let _ = text.parse::<DeliveryId>();
            let _ = format!("wh_{text}").parse::<WebhookId>();
        }
    }

    #[test]
    fn an_error_says_how_long_an_id_is() {
        let error = "wh_x".parse::<WebhookId>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "is not a valid id: expected `wh_` and 26 characters"
        );
    }

    #[test]
    fn debug_output_is_what_users_see() {
        let id = DeliveryId {
            event: EventId::from_bytes([1; 16]),
            webhook: WebhookId::from_bytes([2; 16]),
        };
        assert_eq!(format!("{id:?}"), id.to_string());
        let tenant: TenantId = "acme".parse().unwrap();
        assert_eq!(format!("{tenant:?}"), "acme");
    }

    #[test]
    fn a_tenant_is_stored_under_its_name() {
        let tenant: TenantId = "acme".parse().unwrap();
        assert_eq!(tenant.to_string(), "acme");
        let stored = serde_json::to_string(&tenant).unwrap();
        assert_eq!(serde_json::from_str::<TenantId>(&stored).unwrap(), tenant);
        assert!(serde_json::from_str::<TenantId>("\"not a tenant\"").is_err());
    }

    #[test]
    fn an_id_has_one_spelling() {
        let id = WebhookId::from_bytes([0; 16]);
        let text = id.to_string();
        assert!(text.parse::<WebhookId>().is_ok());
        assert!(text.to_uppercase().parse::<WebhookId>().is_err());
        assert!(text.replace("wh_", "evt_").parse::<WebhookId>().is_err());
        let last_bits_set = format!("{}b", &text[..text.len() - 1]);
        assert!(last_bits_set.parse::<WebhookId>().is_err());
    }

    #[test]
    fn a_keyed_event_depends_on_tenant_scope_and_key_and_on_where_they_end() {
        let (a, b): (TenantId, TenantId) = ("a".parse().unwrap(), "b".parse().unwrap());
        let id = EventId::keyed(&a, "api", "k");
        assert_eq!(id, EventId::keyed(&a, "api", "k"));
        assert_ne!(id, EventId::keyed(&b, "api", "k"));
        assert_ne!(id, EventId::keyed(&a, "src", "k"));
        assert_ne!(EventId::keyed(&a, "ap", "ik"), id);
    }

    #[test]
    fn tenants_have_plain_names() {
        assert!("acme-2_eu".parse::<TenantId>().is_ok());
        for bad in ["", "Acme", "a b", "a#b", &"x".repeat(65)] {
            assert_eq!(bad.parse::<TenantId>(), Err(TenantIdError), "{bad}");
        }
    }
}
