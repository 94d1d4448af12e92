//! Secrets that are drawn here: for senders that take one, and to try a source out.

use data_encoding::HEXLOWER;
use postrider_domain::sample;
use postrider_domain::scheme::Scheme;
use postrider_domain::secret::SharedSecret;

use crate::edge;
use crate::failure::Failure;
use crate::hidden::Hidden;
use crate::schemes::has_key_pair;

/// What was drawn. Shown once.
pub(super) struct Drawn {
    /// What the source is given.
    pub(super) secret: SharedSecret,
    /// What signs, where that is not the secret.
    pub(super) private_key: Option<Hidden>,
}

impl Drawn {
    /// Draws what this scheme signs with.
    pub(super) fn draw(scheme: &Scheme) -> Result<Self, Failure> {
        let is_pair = scheme.ways.first().is_some_and(has_key_pair);
        // One seed in 2^32 is no key of P-256; that two are none will not happen.
        let seeds = [edge::seed()?, edge::seed()?];
        let drawn = seeds.into_iter().find_map(|seed| {
            let keys = sample::keys(scheme, &seed)?;
            Some(Self {
                secret: keys.secret,
                private_key: is_pair.then(|| HEXLOWER.encode(&seed).into()),
            })
        });
        drawn.ok_or_else(|| Failure::Input("--generate drew no key; try again".to_owned()))
    }
}
