//! How a secret's text becomes the key of a signature.

use data_encoding::{BASE64, BASE64_NOPAD, HEXLOWER, HEXLOWER_PERMISSIVE};
use zeroize::Zeroizing;

use super::Digest;
use crate::secret::{PREFIX, SharedSecret};

/// The format in which a provider issues a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyForm {
    /// The text's own bytes.
    #[default]
    Text,
    Base64,
    Hex,
    /// Base64 with or without the prefix `whsec_`.
    Whsec,
    /// Base64 with the prefix `whpk_`: a public key of Standard Webhooks.
    Whpk,
}

/// The bytes of a key. Decoded bytes are wiped on drop, like the secret's text.
pub enum SchemeKey<'a> {
    Text(&'a [u8]),
    Decoded(Zeroizing<Vec<u8>>),
}

impl AsRef<[u8]> for SchemeKey<'_> {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Text(bytes) => bytes,
            Self::Decoded(bytes) => bytes,
        }
    }
}

impl KeyForm {
    pub(crate) fn decode(self, secret: &SharedSecret) -> Option<SchemeKey<'_>> {
        let text = secret.expose();
        let decoded = match self {
            Self::Text => return Some(SchemeKey::Text(text.as_bytes())),
            Self::Base64 => base64(text),
            Self::Hex => HEXLOWER_PERMISSIVE.decode(text.as_bytes()).ok(),
            Self::Whsec => base64(text.strip_prefix(PREFIX).unwrap_or(text)),
            Self::Whpk => base64(text.strip_prefix("whpk_")?),
        };
        let bytes = Zeroizing::new(decoded?);
        (!bytes.is_empty()).then_some(SchemeKey::Decoded(bytes))
    }

    /// Creates a secret from random bytes; `None` if only the sender can create it, because it signs with a private key.
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

    /// Describes the expected format, for error messages.
    pub(crate) fn wanted(self, digest: Digest) -> &'static str {
        match (digest, self) {
            (Digest::EcdsaP256, _) => {
                "the base64 of a P-256 public key (SubjectPublicKeyInfo, DER)"
            }
            (Digest::Ed25519, Self::Hex) => "a 32-byte Ed25519 public key as 64 hexadecimal digits",
            (Digest::Ed25519, Self::Whpk) => {
                "`whpk_` followed by the base64 of a 32-byte Ed25519 public key"
            }
            (Digest::Ed25519, _) => "the base64 of a 32-byte Ed25519 public key",
            (_, Self::Text) => "any text",
            (_, Self::Base64) => "base64",
            (_, Self::Hex) => "hexadecimal digits",
            (_, Self::Whsec) => "`whsec_` followed by base64",
            (_, Self::Whpk) => "`whpk_` followed by base64",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
/// The secret is not in its scheme's format. Never shows the secret.
#[error("does not fit the scheme `{scheme}`; must be {wanted}")]
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
    fn a_generated_secret_is_accepted_by_its_scheme() {
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
            "public keys are not generated"
        );
    }
}
