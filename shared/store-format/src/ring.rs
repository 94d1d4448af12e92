//! The secrets of a ring as texts, between the vault and the domain's types.

use postrider_domain::secret::{RetiringSecret, SecretRing};
use postrider_domain::time::Timestamp;
use zeroize::Zeroizing;

/// Retired secrets with their expiry.
pub(crate) type Retiring = Vec<(Zeroizing<String>, Timestamp)>;

pub(crate) fn hide<S>(
    ring: &SecretRing<S>,
    expose: impl Fn(&S) -> &str,
) -> (Zeroizing<String>, Retiring) {
    let hide = |secret: &S| Zeroizing::new(expose(secret).to_owned());
    let retiring = ring.retiring.iter();
    (
        hide(&ring.current),
        retiring
            .map(|old| (hide(&old.secret), old.expires_at))
            .collect(),
    )
}

pub(crate) fn unhide<S, E>(
    current: &str,
    retiring: &Retiring,
    parse: impl Fn(&str) -> Result<S, E>,
) -> Result<SecretRing<S>, E> {
    let retiring = retiring.iter().map(|(secret, expires_at)| {
        Ok(RetiringSecret {
            secret: parse(secret)?,
            expires_at: *expires_at,
        })
    });
    Ok(SecretRing {
        current: parse(current)?,
        retiring: retiring.collect::<Result<_, E>>()?,
    })
}
