//! What of a secret a signature is keyed with.

use data_encoding::{BASE64, BASE64_NOPAD, HEXLOWER, HEXLOWER_PERMISSIVE};
use zeroize::Zeroizing;

use super::Digest;
use crate::secret::{PREFIX, SharedSecret};

/// The form in which a provider gives a key out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyForm {
    /// Its text as it was given.
    #[default]
    Text,
    /// The bytes that it is the base64 of.
    Base64,
    /// The bytes that it is the hexadecimal form of.
    Hex,
    /// As base64, behind `whsec_` or without it.
    Whsec,
    /// As base64, behind `whpk_`: the public key of Standard Webhooks.
    Whpk,
}

/// The bytes of a key; wiped when they were decoded, as the text that they come from is.
pub(crate) enum Key<'a> {
    Text(&'a [u8]),
    Decoded(Zeroizing<Vec<u8>>),
}

impl AsRef<[u8]> for Key<'_> {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Text(bytes) => bytes,
            Self::Decoded(bytes) => bytes,
        }
    }
}

impl KeyForm {
    /// The bytes of a secret in this form.
    pub(crate) fn decode(self, secret: &SharedSecret) -> Option<Key<'_>> {
        let text = secret.expose();
        let decoded = match self {
            Self::Text => return Some(Key::Text(text.as_bytes())),
            Self::Base64 => base64(text),
            Self::Hex => HEXLOWER_PERMISSIVE.decode(text.as_bytes()).ok(),
            Self::Whsec => base64(text.strip_prefix(PREFIX).unwrap_or(text)),
            Self::Whpk => base64(text.strip_prefix("whpk_")?),
        };
        let bytes = Zeroizing::new(decoded?);
        (!bytes.is_empty()).then_some(Key::Decoded(bytes))
    }

    /// A secret of this form, made of these bytes; none where the sender alone can make it, because it signs with the
    /// private half of a pair.
    #[must_use]
    pub fn draw(self, digest: Digest, bytes: &[u8; 32]) -> Option<SharedSecret> {
        let text = match (digest, self) {
            (Digest::Ed25519 | Digest::EcdsaP256, _) | (_, Self::Whpk) => return None,
            (_, Self::Text | Self::Hex) => HEXLOWER.encode(bytes),
            (_, Self::Base64) => BASE64.encode(bytes),
            (_, Self::Whsec) => format!("{PREFIX}{}", BASE64.encode(bytes)),
        };
        SharedSecret::parse(&text).ok()
    }

    /// What a secret of this form is, for whoever gave another.
    pub(crate) fn wanted(self, digest: Digest) -> &'static str {
        match (digest, self) {
            (Digest::EcdsaP256, _) => {
                "the base64 of a P-256 public key (SubjectPublicKeyInfo, DER)"
            }
            (Digest::Ed25519, Self::Hex) => {
                "an Ed25519 public key of 32 bytes as 64 hexadecimal digits"
            }
            (Digest::Ed25519, Self::Whpk) => {
                "`whpk_` and the base64 of an Ed25519 public key of 32 bytes"
            }
            (Digest::Ed25519, _) => "the base64 of an Ed25519 public key of 32 bytes",
            (_, Self::Text) => "any text",
            (_, Self::Base64) => "base64",
            (_, Self::Hex) => "hexadecimal digits",
            (_, Self::Whsec) => "`whsec_` and base64",
            (_, Self::Whpk) => "`whpk_` and base64",
        }
    }
}

/// A secret that is not in its scheme's form. Never shows the secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be, for the scheme `{scheme}`, {wanted}")]
pub struct Misfit {
    scheme: &'static str,
    wanted: String,
}

impl Misfit {
    pub(crate) fn new(scheme: &'static str, wanted: &[&str]) -> Self {
        Self {
            scheme,
            wanted: wanted.join(", or "),
        }
    }
}

fn base64(text: &str) -> Option<Vec<u8>> {
    let bytes = text.as_bytes();
    BASE64
        .decode(bytes)
        .or_else(|_| BASE64_NOPAD.decode(bytes))
        .ok()
}

#[cfg(test)]
mod tests {
    use super::super::Scheme;

    #[test]
    fn a_drawn_secret_is_one_that_its_scheme_takes() {
        let mut without = Vec::new();
        for scheme in Scheme::all() {
            let drawn = scheme.draw_secret(&[7; 32]);
            match drawn {
                Some(secret) => assert!(scheme.check_secret(&secret).is_ok(), "{}", scheme.name),
                None => without.push(scheme.name),
            }
        }
        assert_eq!(
            without,
            ["sendgrid", "discord"],
            "public keys are not drawn"
        );
    }
}
