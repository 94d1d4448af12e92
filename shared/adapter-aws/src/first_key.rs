//! The first API key, created by the stack and stored in Secrets Manager.

use std::sync::Arc;

use async_trait::async_trait;
use aws_lc_rs::constant_time::verify_slices_are_equal;
use postrider_domain::key::KeyDigest;
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::clock::Clock;
use postrider_ports::first_key::FirstKey;
use postrider_ports::{Error, Result};
use tokio::sync::Mutex;

use crate::fault;

/// How soon a key that does not match triggers another read of the secret: it may have been changed.
const REREAD_AFTER: Millis = Millis::from_seconds(60);
/// How soon a failed read is repeated: guessing keys must not cause a call each time.
const RETRY_AFTER: Millis = Millis::from_seconds(5);
/// Shorter secrets are not accepted as keys: an empty secret would accept an empty token.
const MIN_BYTES: usize = 32;

/// A key stored in Secrets Manager. Read only when a request arrives with a key that is not in the store.
pub struct SecretsManagerKey {
    client: aws_sdk_secretsmanager::Client,
    secret: String,
    clock: Arc<dyn Clock>,
    cached: Mutex<Option<CachedKey>>,
}

struct CachedKey {
    digest: Result<KeyDigest>,
    read_at: Timestamp,
}

impl CachedKey {
    /// Whether a key matches; `None` if the secret must be read first. That includes every key that matches the cached
    /// value: it would grant access, and may have been replaced since.
    fn matches(&self, candidate: KeyDigest, now: Timestamp) -> Option<Result<bool>> {
        let is_older = |than: Millis| self.read_at.plus(than).is_due(now, than);
        match &self.digest {
            Ok(digest) if is_equal(candidate, *digest) => None,
            Ok(_) => (!is_older(REREAD_AFTER)).then_some(Ok(false)),
            Err(error) => (!is_older(RETRY_AFTER)).then(|| Err(error.clone())),
        }
    }
}

impl SecretsManagerKey {
    /// The key in the entry with this name or ARN. Makes no call yet.
    #[must_use]
    pub fn new(
        client: aws_sdk_secretsmanager::Client,
        secret: String,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            client,
            secret,
            clock,
            cached: Mutex::default(),
        }
    }

    async fn read(&self) -> Result<KeyDigest> {
        let call = self.client.get_secret_value().secret_id(&self.secret);
        let answer = call.send().await.map_err(|error| fault::of(&error))?;
        let key = answer.secret_string().unwrap_or_default();
        if key.len() < MIN_BYTES {
            let message = format!(
                "the first key has fewer than {MIN_BYTES} characters; set a longer one in Secrets Manager"
            );
            return Err(Error::Broken(message));
        }
        Ok(KeyDigest::of(key))
    }
}

#[async_trait]
impl FirstKey for SecretsManagerKey {
    async fn is_first(&self, token: &str) -> Result<bool> {
        let candidate = KeyDigest::of(token);
        let now = self.clock.now();
        // Locked during the read, so that many wrong keys at once cost one call.
        let mut cached = self.cached.lock().await;
        let matches = cached
            .as_ref()
            .and_then(|cached| cached.matches(candidate, now));
        if let Some(matches) = matches {
            return matches;
        }
        let digest = self.read().await;
        *cached = Some(CachedKey {
            digest: digest.clone(),
            read_at: now,
        });
        digest.map(|digest| is_equal(candidate, digest))
    }
}

fn is_equal(one: KeyDigest, other: KeyDigest) -> bool {
    verify_slices_are_equal(&one.0, &other.0).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_key_causes_a_read_once_a_minute() {
        let wrong = KeyDigest::of("wrong");
        let cached = CachedKey {
            digest: Ok(KeyDigest::of("right")),
            read_at: Timestamp::ZERO,
        };
        let at = |seconds| Timestamp::ZERO.plus(Millis::from_seconds(seconds));
        assert_eq!(cached.matches(wrong, at(59)), Some(Ok(false)));
        assert_eq!(cached.matches(wrong, at(60)), None);
    }

    #[test]
    fn a_cached_value_never_grants_access() {
        let cached = CachedKey {
            digest: Ok(KeyDigest::of("right")),
            read_at: Timestamp::ZERO,
        };
        let matches = cached.matches(KeyDigest::of("right"), Timestamp::ZERO);
        assert_eq!(matches, None);
    }

    #[test]
    fn a_failed_read_is_retried_soon() {
        let down = Error::Unavailable("down".to_owned());
        let cached = CachedKey {
            digest: Err(down.clone()),
            read_at: Timestamp::ZERO,
        };
        let at = |seconds| Timestamp::ZERO.plus(Millis::from_seconds(seconds));
        let candidate = KeyDigest::of("any");
        assert_eq!(cached.matches(candidate, at(4)), Some(Err(down)));
        assert_eq!(cached.matches(candidate, at(5)), None);
    }
}
