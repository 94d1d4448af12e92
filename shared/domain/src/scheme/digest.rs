//! Signature algorithms and encodings, and the check of a signature.

use std::borrow::Cow;

use data_encoding::{BASE64, HEXLOWER};
use ed25519_dalek::{Signature as Ed25519Signature, VerifyingKey as Ed25519Key};
use hmac::digest::KeyInit;
use hmac::{Hmac, Mac};
use p256::ecdsa::signature::hazmat::PrehashVerifier;
use p256::ecdsa::{Signature as P256Signature, VerifyingKey as P256Key};
use p256::pkcs8::DecodePublicKey;
use sha1::Sha1;
use sha2::{Digest as _, Sha256, Sha512};
use subtle::{Choice, ConstantTimeEq};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Digest {
    /// SHA-1 is still secure in an HMAC.
    HmacSha1,
    #[default]
    HmacSha256,
    HmacSha512,
    /// SHA-256 of the secret followed by the message. Open to length extension, but an extended body is never JSON. So
    /// the body must be JSON or empty.
    Sha256,
    /// The secret is the public key.
    Ed25519,
    /// With SHA-256 and DER signatures; the secret is the public key as SubjectPublicKeyInfo.
    EcdsaP256,
    /// Nothing is signed: the request contains the secret itself.
    Token,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// Lowercase only, so that a signature has only one spelling.
    #[default]
    Hex,
    /// Standard alphabet, padded.
    Base64,
    Text,
}

/// The signed parts, in order.
pub type SignedMessage<'a> = Vec<Cow<'a, [u8]>>;

impl Encoding {
    pub(crate) fn decode(self, text: &str) -> Option<Vec<u8>> {
        match self {
            Self::Hex => HEXLOWER.decode(text.as_bytes()).ok(),
            Self::Base64 => BASE64.decode(text.as_bytes()).ok(),
            Self::Text => Some(text.as_bytes().to_vec()),
        }
    }

    pub fn encode(self, bytes: &[u8]) -> String {
        match self {
            Self::Hex => HEXLOWER.encode(bytes),
            Self::Base64 => BASE64.encode(bytes),
            Self::Text => String::from_utf8_lossy(bytes).into_owned(),
        }
    }
}

impl Digest {
    /// Whether the key is usable: only public keys can be invalid.
    pub(crate) fn takes(self, key: &[u8]) -> bool {
        match self {
            Self::HmacSha1 | Self::HmacSha256 | Self::HmacSha512 | Self::Sha256 | Self::Token => {
                true
            }
            Self::Ed25519 => ed25519(key).is_some(),
            Self::EcdsaP256 => P256Key::from_public_key_der(key).is_ok(),
        }
    }

    /// Whether one of these signatures is valid for the message. All are checked. HMACs and hashes are computed even if
    /// there is nothing to compare with, so that a request without a signature does not take less time.
    pub(crate) fn matches(
        self,
        key: &[u8],
        message: &SignedMessage<'_>,
        given: &[Vec<u8>],
    ) -> Choice {
        match self {
            Self::HmacSha1 => any_equal(&mac::<Hmac<Sha1>>(key, message), given),
            Self::HmacSha256 => any_equal(&mac::<Hmac<Sha256>>(key, message), given),
            Self::HmacSha512 => any_equal(&mac::<Hmac<Sha512>>(key, message), given),
            Self::Sha256 => any_equal(&sha256(key, message), given),
            Self::Token => any_token(key, given),
            Self::Ed25519 => any_ed25519(key, message, given),
            Self::EcdsaP256 => any_p256(key, message, given),
        }
    }

    /// Signs the message; `None` for public keys, which cannot sign.
    pub fn sign(self, key: &[u8], message: &SignedMessage<'_>) -> Option<Vec<u8>> {
        Some(match self {
            Self::HmacSha1 => mac::<Hmac<Sha1>>(key, message).to_vec(),
            Self::HmacSha256 => mac::<Hmac<Sha256>>(key, message).to_vec(),
            Self::HmacSha512 => mac::<Hmac<Sha512>>(key, message).to_vec(),
            Self::Sha256 => sha256(key, message).to_vec(),
            Self::Token => key.to_vec(),
            Self::Ed25519 | Self::EcdsaP256 => return None,
        })
    }
}

fn mac<M: Mac + KeyInit>(key: &[u8], message: &SignedMessage<'_>) -> hmac::digest::Output<M> {
    #[expect(clippy::expect_used, reason = "HMAC takes a key of any length")]
    let mut mac = <M as KeyInit>::new_from_slice(key).expect("any key length");
    message.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes()
}

fn sha256(key: &[u8], message: &SignedMessage<'_>) -> [u8; 32] {
    let mut hash = Sha256::new_with_prefix(key);
    message.iter().for_each(|part| hash.update(part));
    hash.finalize().into()
}

fn any_equal(expected: &[u8], given: &[Vec<u8>]) -> Choice {
    let none = Choice::from(0);
    given
        .iter()
        .fold(none, |found, one| found | expected.ct_eq(one))
}

/// Compares digests of the tokens, so that the time taken does not reveal the length either.
fn any_token(key: &[u8], given: &[Vec<u8>]) -> Choice {
    let expected = Sha256::digest(key);
    let none = Choice::from(0);
    given.iter().fold(none, |found, one| {
        found | expected.as_slice().ct_eq(&Sha256::digest(one))
    })
}

fn any_ed25519(key: &[u8], message: &SignedMessage<'_>, given: &[Vec<u8>]) -> Choice {
    let Some(key) = ed25519(key) else {
        return Choice::from(0);
    };
    let message = message.concat();
    let right = given
        .iter()
        .filter_map(|one| Ed25519Signature::from_slice(one).ok());
    // Everything here is public, so timing reveals nothing that a sender does not know.
    let count = right
        .filter(|one| key.verify_strict(&message, one).is_ok())
        .count();
    Choice::from(u8::from(count > 0))
}

fn any_p256(key: &[u8], message: &SignedMessage<'_>, given: &[Vec<u8>]) -> Choice {
    let digest = sha256(&[], message);
    let Ok(key) = P256Key::from_public_key_der(key) else {
        return Choice::from(0);
    };
    let right = given
        .iter()
        .filter_map(|one| P256Signature::from_der(one).ok());
    let count = right
        .filter(|one| key.verify_prehash(&digest, one).is_ok())
        .count();
    Choice::from(u8::from(count > 0))
}

fn ed25519(key: &[u8]) -> Option<Ed25519Key> {
    let key = Ed25519Key::from_bytes(key.try_into().ok()?).ok()?;
    (!key.is_weak()).then_some(key)
}
