//! Keys to sign samples with: for most schemes one secret, for some a pair of keys.

use data_encoding::{BASE64, HEXLOWER};
use ed25519_dalek::Signer;
use p256::ecdsa::signature::hazmat::PrehashSigner;
use p256::pkcs8::EncodePublicKey;
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use postrider_domain::scheme::{Digest, KeyForm, Scheme, SignedMessage, Way};
use postrider_domain::secret::SharedSecret;

/// What a source stores, and the key that signs for it.
#[derive(Clone, Debug)]
pub struct SampleKeys {
    /// The source's part: a secret, or a public key.
    pub secret: SharedSecret,
    private: Option<Private>,
}

#[derive(Clone)]
struct Private(Zeroizing<[u8; 32]>);

impl std::fmt::Debug for Private {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Private(hidden)")
    }
}

impl SampleKeys {
    /// The keys of a source whose secret is known. Requests in schemes with public keys cannot be signed this way.
    #[must_use]
    pub const fn of(secret: SharedSecret) -> Self {
        Self {
            secret,
            private: None,
        }
    }

    /// The signature for this way; `None` if it cannot use these keys.
    pub(crate) fn sign(&self, way: &Way, message: &SignedMessage<'_>) -> Option<Vec<u8>> {
        let key = way.key(&self.secret)?;
        let private = self.private.as_ref().map(|Private(seed)| seed);
        match way.digest {
            Digest::Ed25519 => {
                let key = ed25519_dalek::SigningKey::from_bytes(private?);
                Some(key.sign(&message.concat()).to_bytes().to_vec())
            }
            Digest::EcdsaP256 => {
                let key = p256::ecdsa::SigningKey::from_slice(&private?[..]).ok()?;
                let signature: p256::ecdsa::Signature =
                    key.sign_prehash(&Sha256::digest(message.concat())).ok()?;
                Some(signature.to_der().as_bytes().to_vec())
            }
            Digest::HmacSha1
            | Digest::HmacSha256
            | Digest::HmacSha512
            | Digest::Sha256
            | Digest::Token => way.digest.sign(key.as_ref(), message),
        }
    }
}

/// Keys for the first way of a scheme, from these random bytes; `None` for a seed that is not a valid key, which is one in
/// 2^32 for P-256.
#[must_use]
pub fn keys(scheme: &Scheme, seed: &[u8; 32]) -> Option<SampleKeys> {
    keys_for(scheme.ways.first()?, seed)
}

/// As [`keys`], for this way.
#[must_use]
pub fn keys_for(way: &Way, seed: &[u8; 32]) -> Option<SampleKeys> {
    let (bytes, private) = match way.digest {
        Digest::Ed25519 => {
            let key = ed25519_dalek::SigningKey::from_bytes(seed);
            (key.verifying_key().to_bytes().to_vec(), true)
        }
        Digest::EcdsaP256 => {
            let key = p256::ecdsa::SigningKey::from_slice(seed).ok()?;
            let public = key.verifying_key().to_public_key_der().ok()?;
            (public.as_bytes().to_vec(), true)
        }
        Digest::HmacSha1
        | Digest::HmacSha256
        | Digest::HmacSha512
        | Digest::Sha256
        | Digest::Token => (seed.to_vec(), false),
    };
    let text = Zeroizing::new(match way.key {
        KeyForm::Text | KeyForm::Hex => HEXLOWER.encode(&bytes),
        KeyForm::Base64 => BASE64.encode(&bytes),
        KeyForm::Whsec => format!("whsec_{}", BASE64.encode(&bytes)),
        KeyForm::Whpk => format!("whpk_{}", BASE64.encode(&bytes)),
    });
    Some(SampleKeys {
        secret: SharedSecret::parse(&text).ok()?,
        private: private.then(|| Private(Zeroizing::new(*seed))),
    })
}
