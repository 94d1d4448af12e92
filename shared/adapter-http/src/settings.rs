//! What the sender is made from.

use std::net::SocketAddr;
use std::time::Duration;

use postrider_domain::egress::Rules;

/// What the sender is made from.
#[derive(Clone, Debug)]
pub struct SenderSettings {
    /// Where requests may go.
    pub rules: Rules,
    /// The name servers to ask; the system's own when `None`.
    pub name_servers: Option<Vec<SocketAddr>>,
    /// Certificates of further authorities to trust beside the public ones, as PEM.
    pub extra_roots_pem: Option<Vec<u8>>,
    /// How much of an attempt resolving, connecting and the TLS handshake may take together.
    pub connect_timeout: Duration,
    /// How many connections to one receiver are kept for the next request.
    pub max_idle_per_host: usize,
}

impl Default for SenderSettings {
    fn default() -> Self {
        Self {
            rules: Rules::default(),
            name_servers: None,
            extra_roots_pem: None,
            connect_timeout: Duration::from_secs(5),
            max_idle_per_host: 32,
        }
    }
}

/// Why no sender could be made.
#[derive(Debug, thiserror::Error)]
pub enum HttpSetupError {
    /// The resolver could not be set up.
    #[error("the resolver cannot be set up: {0}")]
    Resolver(#[from] hickory_resolver::net::NetError),
    /// The further authorities could not be read.
    #[error("the file of further certificate authorities cannot be read as PEM: {0}")]
    RootsUnreadable(#[from] rustls::pki_types::pem::Error),
    /// The further authorities are none.
    #[error("the file of further certificate authorities holds no certificate")]
    RootsEmpty,
    /// TLS could not be set up.
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] rustls::Error),
}
