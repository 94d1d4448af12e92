//! The first API key, which the stack made and keeps in Secrets Manager.

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

/// How soon a key that does not fit has the secret read again: it may have been changed.
const READ_AGAIN_AFTER: Millis = Millis::from_seconds(60);
/// How soon it is read again when it could not be: whoever tries keys must not make us call all the time.
const TRY_AGAIN_AFTER: Millis = Millis::from_seconds(5);
/// Shorter texts are no keys: an empty secret would let an empty token in.
const LEAST_BYTES: usize = 32;

/// A key kept in Secrets Manager. It is asked for only when somebody comes with a key that the store does not know.
pub struct SecretsManagerKey {
    client: aws_sdk_secretsmanager::Client,
    secret: String,
    clock: Arc<dyn Clock>,
    known: Mutex<Option<Known>>,
}

struct Known {
    digest: Result<KeyDigest>,
    read_at: Timestamp,
}

impl Known {
    /// What it says of a key; none when the secret should be read again first. That is so for every key that fits: it
    /// would be let in, and may have been replaced since.
    fn fits(&self, given: KeyDigest, now: Timestamp) -> Option<Result<bool>> {
        let age = now.since(self.read_at);
        match &self.digest {
            Ok(digest) if is_equal(given, *digest) => None,
            Ok(_) => (age < READ_AGAIN_AFTER).then_some(Ok(false)),
            Err(error) => (age < TRY_AGAIN_AFTER).then(|| Err(error.clone())),
        }
    }
}

impl SecretsManagerKey {
    /// The key in the entry with this name or ARN. Calls nobody yet.
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
            known: Mutex::default(),
        }
    }

    async fn read(&self) -> Result<KeyDigest> {
        let call = self.client.get_secret_value().secret_id(&self.secret);
        let answer = call.send().await.map_err(|error| fault::of(&error))?;
        let key = answer.secret_string().unwrap_or_default();
        if key.len() < LEAST_BYTES {
            let said = format!("the first key has less than {LEAST_BYTES} characters");
            return Err(Error::Broken(said));
        }
        Ok(KeyDigest::of(key))
    }
}

#[async_trait]
impl FirstKey for SecretsManagerKey {
    async fn is_first(&self, token: &str) -> Result<bool> {
        let given = KeyDigest::of(token);
        let now = self.clock.now();
        // Held while it is read, so that many wrong keys at once cost one call.
        let mut known = self.known.lock().await;
        let fits = known.as_ref().and_then(|known| known.fits(given, now));
        if let Some(fits) = fits {
            return fits;
        }
        let digest = self.read().await;
        *known = Some(Known {
            digest: digest.clone(),
            read_at: now,
        });
        digest.map(|digest| is_equal(given, digest))
    }
}

fn is_equal(one: KeyDigest, other: KeyDigest) -> bool {
    verify_slices_are_equal(&one.0, &other.0).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_does_not_fit_has_the_secret_read_once_a_minute() {
        let wrong = KeyDigest::of("wrong");
        let known = Known {
            digest: Ok(KeyDigest::of("right")),
            read_at: Timestamp::ZERO,
        };
        let at = |seconds| Timestamp::ZERO.plus(Millis::from_seconds(seconds));
        assert_eq!(known.fits(wrong, at(59)), Some(Ok(false)));
        assert_eq!(known.fits(wrong, at(60)), None);
    }

    #[test]
    fn nobody_is_let_in_by_what_was_read_before() {
        let known = Known {
            digest: Ok(KeyDigest::of("right")),
            read_at: Timestamp::ZERO,
        };
        let fits = known.fits(KeyDigest::of("right"), Timestamp::ZERO);
        assert_eq!(fits, None);
    }

    #[test]
    fn a_secret_that_cannot_be_read_is_tried_again_soon() {
        let down = Error::Unavailable("down".to_owned());
        let known = Known {
            digest: Err(down.clone()),
            read_at: Timestamp::ZERO,
        };
        let at = |seconds| Timestamp::ZERO.plus(Millis::from_seconds(seconds));
        let given = KeyDigest::of("any");
        assert_eq!(known.fits(given, at(4)), Some(Err(down)));
        assert_eq!(known.fits(given, at(5)), None);
    }
}
