//! What signatures are made by, how they are written, and whether one is right.

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

/// What a signature is made by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Digest {
    /// HMAC with SHA-1, which is still sound as a MAC.
    HmacSha1,
    /// HMAC with SHA-256.
    #[default]
    HmacSha256,
    /// HMAC with SHA-512.
    HmacSha512,
    /// SHA-256 of the secret and what follows. Whoever knows one such digest can prolong what it covers, but not to
    /// another JSON text: the body must be JSON, or empty.
    Sha256,
    /// Ed25519; the key is the public one.
    Ed25519,
    /// ECDSA on P-256 with SHA-256, in DER; the key is the public one, as SubjectPublicKeyInfo.
    EcdsaP256,
    /// None: it is the secret itself.
    Token,
}

/// How a signature is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// Lower case only, so that a signature has one spelling.
    #[default]
    Hex,
    /// The usual alphabet, padded.
    Base64,
    /// As it is.
    Text,
}

/// What is signed, in a row.
pub(crate) type Message<'a> = Vec<Cow<'a, [u8]>>;

impl Encoding {
    pub(crate) fn decode(self, text: &str) -> Option<Vec<u8>> {
        match self {
            Self::Hex => HEXLOWER.decode(text.as_bytes()).ok(),
            Self::Base64 => BASE64.decode(text.as_bytes()).ok(),
            Self::Text => Some(text.as_bytes().to_vec()),
        }
    }

    pub(crate) fn encode(self, bytes: &[u8]) -> String {
        match self {
            Self::Hex => HEXLOWER.encode(bytes),
            Self::Base64 => BASE64.encode(bytes),
            Self::Text => String::from_utf8_lossy(bytes).into_owned(),
        }
    }
}

impl Digest {
    /// Whether a key can be used: only public keys can be wrong in themselves.
    pub(crate) fn takes(self, key: &[u8]) -> bool {
        match self {
            Self::HmacSha1 | Self::HmacSha256 | Self::HmacSha512 | Self::Sha256 | Self::Token => {
                true
            }
            Self::Ed25519 => ed25519(key).is_some(),
            Self::EcdsaP256 => P256Key::from_public_key_der(key).is_ok(),
        }
    }

    /// Whether one of these signatures is the key's over the message. All are looked at. Secret digests are made even
    /// if there is nothing to compare them with, so that a request without signature takes no less time.
    pub(crate) fn matches(self, key: &[u8], message: &Message<'_>, given: &[Vec<u8>]) -> Choice {
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

    /// The signature of a secret key over the message; public keys make none.
    pub(crate) fn sign(self, key: &[u8], message: &Message<'_>) -> Option<Vec<u8>> {
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

fn mac<M: Mac + KeyInit>(key: &[u8], message: &Message<'_>) -> hmac::digest::Output<M> {
    #[expect(clippy::expect_used, reason = "HMAC takes a key of any length")]
    let mut mac = <M as KeyInit>::new_from_slice(key).expect("any key length");
    message.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes()
}

/// SHA-256 of the key and the message, or of the message alone if there is no key.
fn sha256(key: &[u8], message: &Message<'_>) -> [u8; 32] {
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

/// Tokens are compared by their digests: of unequal lengths, too, the time then tells nothing.
fn any_token(key: &[u8], given: &[Vec<u8>]) -> Choice {
    let expected = Sha256::digest(key);
    let none = Choice::from(0);
    given.iter().fold(none, |found, one| {
        found | expected.as_slice().ct_eq(&Sha256::digest(one))
    })
}

fn any_ed25519(key: &[u8], message: &Message<'_>, given: &[Vec<u8>]) -> Choice {
    let Some(key) = ed25519(key) else {
        return Choice::from(0);
    };
    let message = message.concat();
    let right = given
        .iter()
        .filter_map(|one| Ed25519Signature::from_slice(one).ok());
    // Everything here is public: how long it takes tells nothing that a sender does not know.
    let count = right
        .filter(|one| key.verify_strict(&message, one).is_ok())
        .count();
    Choice::from(u8::from(count > 0))
}

fn any_p256(key: &[u8], message: &Message<'_>, given: &[Vec<u8>]) -> Choice {
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
