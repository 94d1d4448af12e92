//! How the commands connect.

use std::sync::Arc;
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder};
use rustls::crypto::aws_lc_rs;
use rustls::{ClientConfig, RootCertStore};
use url::Url;

use crate::client::is_loopback;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// The HTTP client for a URL. It does not follow redirects, so tokens and signed requests stay with the given host, and
/// it does not use a proxy to reach this machine.
pub(crate) fn transport(to: &Url) -> reqwest::Result<Client> {
    // The certificate authorities are the system's. Without any, such as in a minimal container, building fails even for
    // plain http; the public authorities take their place.
    builder(to).build().or_else(|error| {
        let tls = public_authorities().map_err(|_| error)?;
        builder(to).tls_backend_preconfigured(tls).build()
    })
}

fn builder(to: &Url) -> ClientBuilder {
    let builder = Client::builder()
        .user_agent(concat!("Postrider-CLI/", env!("CARGO_PKG_VERSION")))
        .redirect(Policy::none())
        .connect_timeout(CONNECT_TIMEOUT)
        .timeout(ANSWER_TIMEOUT);
    if is_loopback(to) {
        builder.no_proxy()
    } else {
        builder
    }
}

fn public_authorities() -> Result<ClientConfig, rustls::Error> {
    let roots = RootCertStore::from_iter(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    let provider = Arc::new(aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(config)
}
