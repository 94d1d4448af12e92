//! The pass that a function needs for access: drawn for each run of `postrider dev`, and passed on in its URL.

use std::net::SocketAddr;

use data_encoding::HEXLOWER;
use postrider_ports::{Error, Result};
use postrider_store_format::{KEY_BYTES, Vault};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use url::Url;
use zeroize::Zeroizing;

/// Grants access to the ports; a web page, which does not have it, gets none. Secrets on the wire are sealed with it, so
/// the pass itself is never sent: the bearer token is derived from it.
#[derive(Clone)]
pub struct Pass(Zeroizing<[u8; KEY_BYTES]>);

impl Pass {
    /// A pass made of these random bytes.
    #[must_use]
    pub fn new(drawn: [u8; KEY_BYTES]) -> Self {
        Self(Zeroizing::new(drawn))
    }

    /// The value of `POSTRIDER_DEV_URL` for ports served on this address.
    #[must_use]
    pub fn url(&self, address: SocketAddr) -> String {
        format!("http://{address}/{}", HEXLOWER.encode(&*self.0))
    }

    /// Splits such a value into the address of the ports and the pass.
    ///
    /// # Errors
    /// If it has another form. The error never contains the value.
    pub fn from_url(url: &str) -> Result<(Url, Self)> {
        let unfit = || {
            Error::Broken(
                "use the URL exactly as `postrider dev` printed it: http://127.0.0.1:<port>/<pass>"
                    .to_owned(),
            )
        };
        let mut url = Url::parse(url).map_err(|_| unfit())?;
        let pass = HEXLOWER
            .decode(url.path().trim_matches('/').as_bytes())
            .ok()
            .and_then(|bytes| <[u8; KEY_BYTES]>::try_from(bytes).ok())
            .ok_or_else(unfit)?;
        if url.scheme() != "http" {
            return Err(unfit());
        }
        url.set_path("/");
        Ok((url, Self::new(pass)))
    }

    /// The value of the `Authorization` header.
    pub(crate) fn bearer(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(b"postrider dev");
        hash.update(*self.0);
        format!("Bearer {}", HEXLOWER.encode(&hash.finalize()))
    }

    /// Whether this is the right `Authorization` header.
    pub(crate) fn admits(&self, header: &[u8]) -> bool {
        self.bearer().as_bytes().ct_eq(header).into()
    }

    /// Seals secrets on the wire.
    pub(crate) fn vault(&self) -> Result<Vault> {
        Vault::with_key(&self.0)
    }
}

impl std::fmt::Debug for Pass {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Pass(hidden)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_reads_back_as_its_parts() {
        let pass = Pass::new([7; KEY_BYTES]);
        let url = pass.url("127.0.0.1:8090".parse().unwrap());
        let (origin, again) = Pass::from_url(&url).unwrap();
        assert_eq!(origin.as_str(), "http://127.0.0.1:8090/");
        assert!(pass.admits(again.bearer().as_bytes()));
        assert!(!pass.admits(Pass::new([8; KEY_BYTES]).bearer().as_bytes()));
        assert!(!pass.admits(b""));
    }

    #[test]
    fn the_pass_appears_neither_in_the_header_nor_in_an_error() {
        let pass = Pass::new([0xab; KEY_BYTES]);
        assert!(!pass.bearer().contains("abab"));
        assert!(!format!("{pass:?}").contains("ab"));
        for bad in [
            "https://127.0.0.1:1/abab",
            "http://127.0.0.1:1/abab",
            "abab",
            "",
        ] {
            let error = Pass::from_url(bad).unwrap_err().to_string();
            assert!(!error.contains("abab"), "{error}");
        }
    }
}
