//! A signature as bytes: half as long as its text.

use std::fmt;

use data_encoding::HEXLOWER;
use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

const SCHEME: &str = "sha256=";

/// The `sha256=…` signature last used. Anything else is stored unchanged.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Signature(pub(super) String);

impl Signature {
    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Signature {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let hex = self.0.strip_prefix(SCHEME).filter(|hex| !hex.is_empty());
        match hex.and_then(|hex| HEXLOWER.decode(hex.as_bytes()).ok()) {
            Some(bytes) => to.serialize_bytes(&bytes),
            None => to.serialize_str(&self.0),
        }
    }
}

impl<'de> Deserialize<'de> for Signature {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Either)
    }
}

struct Either;

impl Visitor<'_> for Either {
    type Value = Signature;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a signature")
    }

    fn visit_str<E>(self, text: &str) -> Result<Signature, E> {
        Ok(Signature(text.to_owned()))
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Signature, E> {
        Ok(Signature(format!("{SCHEME}{}", HEXLOWER.encode(bytes))))
    }

    fn visit_byte_buf<E: serde::de::Error>(self, bytes: Vec<u8>) -> Result<Signature, E> {
        self.visit_bytes(&bytes)
    }
}
