//! The sender's settings.

use std::net::SocketAddr;
use std::time::Duration;

use postrider_domain::egress::Rules;
use postrider_domain::webhook::CONNECT_TIMEOUT;
use url::Url;

#[derive(Clone, Debug)]
pub struct SenderSettings {
    /// Which addresses requests may go to.
    pub rules: Rules,
    /// The name servers to ask; those of the system if `None`.
    pub name_servers: Option<Vec<SocketAddr>>,
    /// Certificates of additional authorities to trust, as PEM.
    pub extra_roots_pem: Option<Vec<u8>>,
    /// How long resolving, connecting and the TLS handshake may take together.
    pub connect_timeout: Duration,
    /// A service that is reached whenever the gateway's network works. Without one, an outage is recognised only if name servers
    /// or routes are missing for several hosts.
    pub reference: Option<Url>,
    /// How many idle connections to one receiver are kept.
    pub max_idle_per_host: usize,
}

impl Default for SenderSettings {
    fn default() -> Self {
        Self {
            rules: Rules::default(),
            name_servers: None,
            extra_roots_pem: None,
            connect_timeout: CONNECT_TIMEOUT.into(),
            reference: None,
            max_idle_per_host: 32,
        }
    }
}

/// Why a sender could not be created.
#[derive(Debug, thiserror::Error)]
pub enum HttpSetupError {
    #[error("cannot read the system's name servers from /etc/resolv.conf: {0}")]
    NameServers(hickory_resolver::net::NetError),
    #[error("cannot set up the DNS resolver: {0}")]
    Resolver(#[from] hickory_resolver::net::NetError),
    #[error("the file of additional certificate authorities is not valid PEM: {0}")]
    RootsUnreadable(#[from] rustls::pki_types::pem::Error),
    #[error("the file of additional certificate authorities contains no certificate")]
    RootsEmpty,
    #[error("cannot set up TLS: {0}")]
    Tls(#[from] rustls::Error),
}
