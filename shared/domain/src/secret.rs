//! Signing secrets: they cannot be printed or serialised by accident and are wiped on drop.

use std::fmt;

use data_encoding::BASE64;
use zeroize::Zeroizing;

use crate::time::{Millis, Timestamp};

pub const PREFIX: &str = "whsec_";
/// How long the old secret stays valid after a rotation.
pub const OVERLAP: Millis = Millis::from_seconds(86_400);
pub const MAX_SHARED_BYTES: usize = 1024;

/// A secret that can be rotated; the old one stays valid for a while.
pub trait Rotating: Clone {
    const MAX_LIVE: usize;
    /// How many expired secrets are stored. They verify nothing; they only identify a sender that still uses one.
    const MAX_REMEMBERED: usize;
}

impl Rotating for SigningSecret {
    const MAX_LIVE: usize = 5;
    const MAX_REMEMBERED: usize = 0;
}

impl Rotating for SharedSecret {
    // Each one costs another digest of the whole body per request.
    const MAX_LIVE: usize = 3;
    const MAX_REMEMBERED: usize = 10;
}

/// `whsec_` and the base64 of 24 to 64 bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct SigningSecret {
    text: Zeroizing<String>,
    key: Zeroizing<Vec<u8>>,
}

/// Never shows the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be `whsec_` followed by the base64 of 24 to 64 bytes")]
pub struct SecretError;

impl SigningSecret {
    #[must_use]
    pub fn from_key(key: &[u8; 32]) -> Self {
        let text = Zeroizing::new(format!("{PREFIX}{}", BASE64.encode(key)));
        Self {
            text,
            key: Zeroizing::new(key.to_vec()),
        }
    }

    pub fn parse(text: &str) -> Result<Self, SecretError> {
        let encoded = text.strip_prefix(PREFIX).ok_or(SecretError)?;
        let key = Zeroizing::new(BASE64.decode(encoded.as_bytes()).map_err(|_| SecretError)?);
        if !(24..=64).contains(&key.len()) {
            return Err(SecretError);
        }
        Ok(Self {
            text: Zeroizing::new(text.to_owned()),
            key,
        })
    }

    /// The key of the Standard Webhooks signature: the decoded bytes.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// The text: the key of the plain signatures, and what is shown once to the operator.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.text
    }
}

impl fmt::Debug for SigningSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningSecret(hidden)")
    }
}

/// A secret shared by a source and the gateway, in the format its provider issues.
#[derive(Clone, PartialEq, Eq)]
pub struct SharedSecret(Zeroizing<String>);

/// Never shows the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be 1 to {MAX_SHARED_BYTES} bytes")]
pub struct SharedSecretError;

impl SharedSecret {
    pub fn parse(text: &str) -> Result<Self, SharedSecretError> {
        if (1..=MAX_SHARED_BYTES).contains(&text.len()) {
            Ok(Self(Zeroizing::new(text.to_owned())))
        } else {
            Err(SharedSecretError)
        }
    }

    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SharedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedSecret(hidden)")
    }
}

/// A source's secret as submitted, unchecked.
#[derive(Clone, PartialEq, Eq)]
pub struct UncheckedSecret(Zeroizing<String>);

impl UncheckedSecret {
    pub fn check(&self) -> Result<SharedSecret, SharedSecretError> {
        SharedSecret::parse(&self.0)
    }
}

impl From<String> for UncheckedSecret {
    fn from(text: String) -> Self {
        Self(Zeroizing::new(text))
    }
}

impl From<&SharedSecret> for UncheckedSecret {
    fn from(secret: &SharedSecret) -> Self {
        Self(secret.0.clone())
    }
}

impl fmt::Debug for UncheckedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UncheckedSecret(hidden)")
    }
}

/// A replaced secret, valid until `expires_at`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetiringSecret<S = SigningSecret> {
    pub secret: S,
    pub expires_at: Timestamp,
}

/// The secrets of one webhook or source: the current one and those it replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretRing<S = SigningSecret> {
    pub current: S,
    /// Newest first; some may have expired.
    pub retiring: Vec<RetiringSecret<S>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at most {limit} secrets may be valid at once; wait until an older one expires")]
pub struct TooManySecrets {
    pub limit: usize,
}

impl<S: Rotating> SecretRing<S> {
    #[must_use]
    pub const fn new(current: S) -> Self {
        Self {
            current,
            retiring: Vec::new(),
        }
    }

    /// Adds a new secret; the old one stays valid for [`OVERLAP`].
    pub fn rotated(&self, next: S, now: Timestamp) -> Result<Self, TooManySecrets> {
        let (live, expired): (Vec<_>, Vec<_>) = self
            .retiring
            .iter()
            .cloned()
            .partition(|old| old.expires_at > now);
        let mut retiring = vec![RetiringSecret {
            secret: self.current.clone(),
            expires_at: now.plus(OVERLAP),
        }];
        retiring.extend(live);
        if retiring.len() >= S::MAX_LIVE {
            let limit = S::MAX_LIVE;
            return Err(TooManySecrets { limit });
        }
        retiring.extend(expired.into_iter().take(S::MAX_REMEMBERED));
        Ok(Self {
            current: next,
            retiring,
        })
    }

    /// Every secret valid at `now`, newest first.
    pub fn live(&self, now: Timestamp) -> impl Iterator<Item = &S> {
        let replaced = self.replaced(now).map(|old| &old.secret);
        std::iter::once(&self.current).chain(replaced)
    }

    /// Replaced secrets that are still valid at `now`, newest first.
    pub fn replaced(&self, now: Timestamp) -> impl Iterator<Item = &RetiringSecret<S>> {
        self.retiring.iter().filter(move |old| old.expires_at > now)
    }

    /// Stored secrets that have expired by `now`, newest first.
    pub fn expired(&self, now: Timestamp) -> impl Iterator<Item = &S> {
        let expired = self
            .retiring
            .iter()
            .filter(move |old| old.expires_at <= now);
        expired.map(|old| &old.secret)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_never_printed() {
        let secret = SigningSecret::from_key(&[7; 32]);
        let ring = SecretRing::new(secret.clone());
        let shared = SharedSecret::parse("nonsense").unwrap();
        let shown = format!(
            "{secret:?} {ring:?} {shared:?} {:?} {:?}",
            UncheckedSecret::from(&shared),
            SigningSecret::parse("whsec_nonsense")
        );
        for kind in ["SigningSecret", "SharedSecret", "UncheckedSecret"] {
            assert!(shown.contains(&format!("{kind}(hidden)")), "{shown}");
        }
        assert!(
            !shown.contains("whsec_Bw") && !shown.contains("nonsense"),
            "{shown}"
        );
    }

    #[test]
    fn secrets_have_24_to_64_bytes() {
        let of = |n: usize| SigningSecret::parse(&format!("whsec_{}", BASE64.encode(&vec![1; n])));
        assert!(of(24).is_ok() && of(64).is_ok());
        assert_eq!(of(23), Err(SecretError));
        assert_eq!(of(65), Err(SecretError));
        assert_eq!(SigningSecret::parse(""), Err(SecretError));
    }

    #[test]
    fn a_signing_secret_is_the_base64_of_its_key() {
        let text = format!("whsec_{}=", "A".repeat(43));
        assert_eq!(SigningSecret::from_key(&[0; 32]).expose(), text);
        let parsed = SigningSecret::parse(&text).unwrap();
        assert_eq!((parsed.expose(), parsed.key()), (&*text, &[0; 32][..]));
    }

    #[test]
    fn a_shared_secret_is_any_text_that_is_not_empty_or_too_long() {
        assert_eq!(
            SharedSecret::parse(" It's a Secret ").unwrap().expose(),
            " It's a Secret "
        );
        assert_eq!(SharedSecret::parse(""), Err(SharedSecretError));
        let longest = "x".repeat(MAX_SHARED_BYTES);
        assert!(SharedSecret::parse(&longest).is_ok());
        assert!(SharedSecret::parse(&format!("{longest}x")).is_err());
    }

    #[test]
    fn a_rotated_secret_stays_valid_for_a_day() {
        let (first, second) = (
            SigningSecret::from_key(&[1; 32]),
            SigningSecret::from_key(&[2; 32]),
        );
        let now = Timestamp::from_millis(1_000);
        let ring = SecretRing::new(first.clone())
            .rotated(second.clone(), now)
            .unwrap();
        let live = |at| ring.live(at).cloned().collect::<Vec<_>>();
        assert_eq!(
            live(now.plus(Millis::new(86_399_999))),
            [second.clone(), first]
        );
        assert_eq!(live(now.plus(OVERLAP)), [second]);
    }

    #[test]
    fn the_last_expired_secrets_of_a_source_are_stored_but_not_valid() {
        let secret = |n: u64| SharedSecret::parse(&format!("secret {n}")).unwrap();
        let days = |n: u64| Timestamp::from_millis(0).plus(Millis::from_seconds(n * 86_400));
        let mut ring = SecretRing::new(secret(0));
        for n in 1..=20 {
            ring = ring.rotated(secret(n), days(n)).unwrap();
        }
        let now = days(21);
        assert_eq!(ring.live(now).cloned().collect::<Vec<_>>(), [secret(20)]);
        let expired: Vec<_> = ring.expired(now).cloned().collect();
        let newest: Vec<_> = (9..20).rev().map(secret).collect();
        assert_eq!(
            expired, newest,
            "the one that has just expired, and ten more"
        );
        let signing = SecretRing::new(SigningSecret::from_key(&[1; 32]));
        let next = signing.rotated(SigningSecret::from_key(&[2; 32]), days(1));
        let next = next
            .unwrap()
            .rotated(SigningSecret::from_key(&[3; 32]), days(3));
        assert_eq!(next.unwrap().retiring.len(), 1);
    }

    #[test]
    fn rotating_too_often_is_an_error() {
        let mut ring = SecretRing::new(SigningSecret::from_key(&[0; 32]));
        for n in 1..5 {
            ring = ring
                .rotated(SigningSecret::from_key(&[n; 32]), Timestamp::ZERO)
                .unwrap();
        }
        assert_eq!(
            ring.rotated(SigningSecret::from_key(&[9; 32]), Timestamp::ZERO),
            Err(TooManySecrets { limit: 5 })
        );
        assert!(
            ring.rotated(
                SigningSecret::from_key(&[9; 32]),
                Timestamp::ZERO.plus(OVERLAP)
            )
            .is_ok()
        );
    }
}
