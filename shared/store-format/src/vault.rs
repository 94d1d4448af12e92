//! Encryption at rest: AES-256-GCM.

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use postrider_ports::{Error, Result};
use zeroize::Zeroizing;

pub const KEY_BYTES: usize = 32;

/// Seals and opens values. A sealed value is the nonce, followed by the ciphertext with its tag.
pub struct Vault {
    key: RandomizedNonceKey,
}

impl Vault {
    pub fn with_key(key: &[u8; KEY_BYTES]) -> Result<Self> {
        let key = RandomizedNonceKey::new(&AES_256_GCM, key)
            .map_err(|_| broken("the key was rejected"))?;
        Ok(Self { key })
    }

    /// Seals a value for the item that `about` names; it opens only for that item.
    pub fn seal(&self, about: &[u8], value: &[u8]) -> Result<Vec<u8>> {
        let mut sealed = Zeroizing::new(value.to_vec());
        let nonce = self
            .key
            .seal_in_place_append_tag(Aad::from(about), &mut *sealed)
            .map_err(|_| broken("a value could not be encrypted"))?;
        Ok([nonce.as_ref().as_slice(), &sealed].concat())
    }
    /// # Errors
    /// If it was changed, or sealed for another item or with another key.
    pub fn unseal(&self, about: &[u8], sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>> {
        let unfit = || {
            broken(
                "a stored secret cannot be decrypted: it was changed, or the key is not the right one",
            )
        };
        let (nonce, ciphertext) = sealed.split_at_checked(NONCE_LEN).ok_or_else(unfit)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| unfit())?;
        let mut value = Zeroizing::new(ciphertext.to_vec());
        let length = self
            .key
            .open_in_place(nonce, Aad::from(about), &mut value)
            .map_err(|_| unfit())?
            .len();
        value.truncate(length);
        Ok(value)
    }
}

impl std::fmt::Debug for Vault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Vault(hidden)")
    }
}

fn broken(what: &str) -> Error {
    Error::Broken(what.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_value_opens_for_its_item_alone() {
        let vault = Vault::with_key(&[7; 32]).unwrap();
        let sealed = vault.seal(b"tenant/a", b"secret").unwrap();
        assert_eq!(
            vault.unseal(b"tenant/a", &sealed).unwrap().as_slice(),
            b"secret"
        );
        assert!(vault.unseal(b"tenant/b", &sealed).is_err());
        assert!(
            Vault::with_key(&[8; 32])
                .unwrap()
                .unseal(b"tenant/a", &sealed)
                .is_err()
        );
    }

    #[test]
    fn a_changed_or_cut_value_is_refused() {
        let vault = Vault::with_key(&[7; 32]).unwrap();
        let sealed = vault.seal(b"x", b"secret").unwrap();
        for n in 0..sealed.len() {
            assert!(vault.unseal(b"x", &sealed[..n]).is_err());
            let mut flipped = sealed.clone();
            flipped[n] ^= 1;
            assert!(vault.unseal(b"x", &flipped).is_err());
        }
    }

    #[test]
    fn the_same_value_never_looks_the_same() {
        let vault = Vault::with_key(&[7; 32]).unwrap();
        assert_ne!(
            vault.seal(b"x", b"secret").unwrap(),
            vault.seal(b"x", b"secret").unwrap()
        );
    }
}
