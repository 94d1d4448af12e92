//! The link that `serve` prints: it logs in once, for a while after the start.

use parking_lot::Mutex;
use postrider_domain::key::KeyDigest;
use postrider_domain::time::{Millis, Timestamp};

/// How long a link is good.
const GOOD_FOR: Millis = Millis::from_seconds(15 * 60);

/// A login for whoever sees the first lines of a gateway, once.
pub struct OneTimeLogin {
    link: Mutex<Option<Link>>,
}

struct Link {
    digest: KeyDigest,
    stands_for: KeyDigest,
    until: Timestamp,
}

impl OneTimeLogin {
    /// A login with `token`, as good as the key with the digest `stands_for`.
    #[must_use]
    pub fn new(token: &str, stands_for: KeyDigest, now: Timestamp) -> Self {
        let link = Link {
            digest: KeyDigest::of(token),
            stands_for,
            until: now.plus(GOOD_FOR),
        };
        Self {
            link: Mutex::new(Some(link)),
        }
    }

    /// Where a browser goes to use it.
    #[must_use]
    pub fn path(token: &str) -> String {
        format!("/inspector/login?once={token}")
    }

    /// The key that it stands for, the first time and in time. Digests are compared, whose order of bytes tells nothing
    /// of the token's.
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
    fn a_link_is_good_once_and_in_time() {
        let key = KeyDigest::of("key");
        let now = Timestamp::from_millis(1_000);
        let link = OneTimeLogin::new("token", key, now);
        assert_eq!(link.take("another", now), None);
        assert_eq!(link.take("token", now), Some(key));
        assert_eq!(link.take("token", now), None, "used");
        let late = OneTimeLogin::new("token", key, now);
        assert_eq!(late.take("token", now.plus(GOOD_FOR)), None);
    }
}
