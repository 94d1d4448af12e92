//! Generates secrets, for senders that accept one and for testing.

use data_encoding::HEXLOWER;
use postrider_domain::scheme::Scheme;
use postrider_domain::secret::SharedSecret;
use postrider_samples as sample;

use crate::edge;
use crate::failure::Failure;
use crate::hidden::Hidden;
use crate::schemes::has_key_pair;

/// A generated secret, shown once.
pub(super) struct Generated {
    /// What the source verifies with.
    pub(super) secret: SharedSecret,
    /// The private key, for schemes that sign with a key pair.
    pub(super) private_key: Option<Hidden>,
}

impl Generated {
    pub(super) fn new(scheme: &Scheme) -> Result<Self, Failure> {
        let is_pair = scheme.ways.first().is_some_and(has_key_pair);
        // One seed in 2^32 is not a valid P-256 key; two in a row will not happen.
        let seeds = [edge::seed()?, edge::seed()?];
        let generated = seeds.into_iter().find_map(|seed| {
            let keys = sample::keys(scheme, &seed)?;
            Some(Self {
                secret: keys.secret,
                private_key: is_pair.then(|| HEXLOWER.encode(&seed).into()),
            })
        });
        generated.ok_or_else(|| Failure::Input("could not generate a key; try again".to_owned()))
    }
}
