//! The one-time login link that `serve` prints at startup.

use parking_lot::Mutex;
use postrider_domain::key::KeyDigest;
use postrider_domain::time::{Millis, Timestamp};

const VALID_FOR: Millis = Millis::from_seconds(15 * 60);

/// A login that works once, for the operator who sees the gateway's startup output.
pub struct OneTimeLogin {
    link: Mutex<Option<Link>>,
}

struct Link {
    digest: KeyDigest,
    stands_for: KeyDigest,
    until: Timestamp,
}

impl OneTimeLogin {
    /// A login with `token` that has the rights of the key with the digest `stands_for`.
    #[must_use]
    pub fn new(token: &str, stands_for: KeyDigest, now: Timestamp) -> Self {
        let link = Link {
            digest: KeyDigest::of(token),
            stands_for,
            until: now.plus(VALID_FOR),
        };
        Self {
            link: Mutex::new(Some(link)),
        }
    }

    /// The path that a browser opens to use it.
    #[must_use]
    pub fn path(token: &str) -> String {
        format!("/inspector/login?once={token}")
    }

    /// The key it stands for, the first time and until it expires. Digests are compared, so timing reveals nothing about
    /// the token.
    pub(super) fn take(&self, token: &str, now: Timestamp) -> Option<KeyDigest> {
        let mut link = self.link.lock();
        let fits = |link: &mut Link| link.digest == KeyDigest::of(token) && now < link.until;
        link.take_if(fits).map(|link| link.stands_for)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_works_once_and_expires() {
        let key = KeyDigest::of("key");
        let now = Timestamp::from_millis(1_000);
        let link = OneTimeLogin::new("token", key, now);
        assert_eq!(link.take("another", now), None);
        assert_eq!(link.take("token", now), Some(key));
        assert_eq!(link.take("token", now), None, "used");
        let late = OneTimeLogin::new("token", key, now);
        assert_eq!(late.take("token", now.plus(VALID_FOR)), None);
    }
}
