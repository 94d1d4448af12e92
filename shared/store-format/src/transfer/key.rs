//! The key that an export is sealed with.

use std::num::NonZeroU32;

use aws_lc_rs::pbkdf2::{self, PBKDF2_HMAC_SHA256};
use data_encoding::HEXLOWER;
use postrider_ports::Result;
use zeroize::Zeroizing;

use crate::{KEY_BYTES, Vault};

pub const SALT_BYTES: usize = 16;

/// Only the command that knows the passphrase derives it; a gateway is given the key, never the passphrase.
#[derive(Clone)]
pub struct TransferKey(Zeroizing<[u8; KEY_BYTES]>);

impl TransferKey {
    /// PBKDF2-HMAC-SHA256.
    #[must_use]
    pub fn derive(passphrase: &str, salt: &[u8; SALT_BYTES], rounds: NonZeroU32) -> Self {
        let mut key = Zeroizing::new([0; KEY_BYTES]);
        let passphrase = passphrase.as_bytes();
        pbkdf2::derive(PBKDF2_HMAC_SHA256, rounds, salt, passphrase, &mut *key);
        Self(key)
    }

    #[must_use]
    pub fn from_bytes(bytes: [u8; KEY_BYTES]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// The key written as 64 hexadecimal digits.
    #[must_use]
    pub fn from_hex(text: &str) -> Option<Self> {
        let bytes = Zeroizing::new(HEXLOWER.decode(text.as_bytes()).ok()?);
        let bytes: [u8; KEY_BYTES] = bytes.as_slice().try_into().ok()?;
        Some(Self::from_bytes(bytes))
    }

    #[must_use]
    pub fn to_hex(&self) -> Zeroizing<String> {
        Zeroizing::new(HEXLOWER.encode(&*self.0))
    }

    pub fn vault(&self) -> Result<Vault> {
        Vault::with_key(&self.0)
    }
}

impl std::fmt::Debug for TransferKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TransferKey(hidden)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_depends_on_passphrase_salt_and_rounds() {
        let rounds = |n| NonZeroU32::new(n).unwrap();
        let key = |passphrase: &str, salt: u8, n| {
            TransferKey::derive(passphrase, &[salt; SALT_BYTES], rounds(n)).to_hex()
        };
        let one = key("correct horse", 1, 2);
        assert_eq!(one, key("correct horse", 1, 2));
        for other in [
            key("correct horse ", 1, 2),
            key("correct horse", 2, 2),
            key("correct horse", 1, 3),
        ] {
            assert_ne!(one, other);
        }
    }

    #[test]
    fn a_key_reads_back_from_its_text() {
        let key = TransferKey::from_bytes([0xa5; KEY_BYTES]);
        let text = key.to_hex();
        assert_eq!(TransferKey::from_hex(&text).unwrap().to_hex(), text);
        for bad in ["", "a5", &text[1..], &text.to_uppercase()] {
            assert!(TransferKey::from_hex(bad).is_none());
        }
        assert!(!format!("{key:?}").contains("a5"));
    }
}
