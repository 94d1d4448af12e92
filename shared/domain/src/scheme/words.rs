//! The names that users write for the parts of a custom scheme.

use super::{Digest, Encoding, KeyForm, TimeForm};

pub(super) trait Word: Copy + Default + PartialEq + 'static {
    /// The default comes first.
    const WORDS: &'static [(Self, &'static str)];

    fn word(self) -> &'static str {
        let found = Self::WORDS.iter().find(|(value, _)| *value == self);
        found.map_or("", |(_, word)| word)
    }

    fn read(text: &str) -> Result<Self, String> {
        let found = Self::WORDS.iter().find(|(_, word)| *word == text);
        found.map(|(value, _)| *value).ok_or_else(|| {
            let words: Vec<_> = Self::WORDS.iter().map(|(_, word)| *word).collect();
            format!("must be one of {}", words.join(", "))
        })
    }
}

impl Word for Digest {
    const WORDS: &'static [(Self, &'static str)] = &[
        (Self::HmacSha256, "hmac-sha256"),
        (Self::HmacSha1, "hmac-sha1"),
        (Self::HmacSha512, "hmac-sha512"),
        (Self::Sha256, "sha256"),
        (Self::Ed25519, "ed25519"),
        (Self::EcdsaP256, "ecdsa-p256"),
        (Self::Token, "token"),
    ];
}

impl Word for Encoding {
    const WORDS: &'static [(Self, &'static str)] = &[
        (Self::Hex, "hex"),
        (Self::Base64, "base64"),
        (Self::Text, "text"),
    ];
}

impl Word for KeyForm {
    const WORDS: &'static [(Self, &'static str)] = &[
        (Self::Text, "text"),
        (Self::Base64, "base64"),
        (Self::Hex, "hex"),
        (Self::Whsec, "whsec"),
        (Self::Whpk, "whpk"),
    ];
}

impl Word for TimeForm {
    const WORDS: &'static [(Self, &'static str)] = &[
        (Self::Seconds, "seconds"),
        (Self::Millis, "milliseconds"),
        (Self::Rfc3339, "rfc3339"),
    ];
}

impl Digest {
    /// Whether this digest can be used with this encoding and key format.
    pub(super) fn fits(self, encoding: Encoding, key: KeyForm) -> bool {
        let key_fits = match self {
            Self::Ed25519 => matches!(key, KeyForm::Hex | KeyForm::Base64 | KeyForm::Whpk),
            Self::EcdsaP256 => key == KeyForm::Base64,
            Self::HmacSha1 | Self::HmacSha256 | Self::HmacSha512 | Self::Sha256 | Self::Token => {
                key != KeyForm::Whpk
            }
        };
        key_fits && (encoding == Encoding::Text) == (self == Self::Token)
    }
}

macro_rules! names {
    ($($type:ty),+) => {$(
        impl $type {
            /// The words in the API, the default first.
            pub fn names() -> impl Iterator<Item = &'static str> {
                Self::WORDS.iter().map(|(_, word)| *word)
            }

            /// The word in the API.
            #[must_use]
            pub fn name(self) -> &'static str {
                self.word()
            }
        }
    )+};
}

names!(Digest, Encoding, KeyForm, TimeForm);

#[cfg(test)]
mod tests {
    use super::*;

    fn is_first<W: Word>() -> bool {
        W::WORDS
            .first()
            .is_some_and(|(value, _)| *value == W::default())
    }

    #[test]
    fn the_default_comes_first() {
        assert!(is_first::<Digest>() && is_first::<Encoding>());
        assert!(is_first::<KeyForm>() && is_first::<TimeForm>());
    }
}
