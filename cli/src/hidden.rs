//! Tokens and secrets from the command line, which must not be printed.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use postrider_domain::secret::SigningSecret;
use serde::Deserialize;

use crate::failure::Failure;

/// A text that `Debug` does not show. Parsing never fails, because clap would quote the value in its error and it could
/// end up in a log; the value is validated later, without being quoted.
#[derive(Clone, Deserialize)]
#[serde(transparent)]
pub(crate) struct Hidden(String);

impl Hidden {
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// Parses signing secrets. Empty ones, such as from an unset variable, are ignored.
    pub(crate) fn signing_secrets(given: &[Self]) -> Result<Vec<SigningSecret>, Failure> {
        given
            .iter()
            .filter(|secret| !secret.0.is_empty())
            .map(Self::signing_secret)
            .collect()
    }

    pub(crate) fn signing_secret(&self) -> Result<SigningSecret, Failure> {
        SigningSecret::parse(self.0.trim())
            .map_err(|error| Failure::Input(format!("the secret {error}")))
    }
}

impl From<String> for Hidden {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl FromStr for Hidden {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hidden")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_secret_is_not_quoted() {
        let hidden: Hidden = "whsec_canary".parse().unwrap();
        let failure = hidden.signing_secret().unwrap_err();
        assert!(!format!("{hidden:?} {failure:?} {failure}").contains("canary"));
    }
}
