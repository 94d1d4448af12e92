//! TLS to receivers: public authorities, those the operator adds, HTTP/1.1 only.

use std::sync::Arc;

use rustls::crypto::aws_lc_rs;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_rustls::TlsConnector;

use crate::settings::HttpSetupError;

/// Trusts the public authorities and these.
pub(crate) fn connector(extra_roots_pem: Option<&[u8]>) -> Result<TlsConnector, HttpSetupError> {
    // The provider is explicit, so that another crate's choice of a process-wide provider does not matter.
    let mut config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots(extra_roots_pem)?)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

fn roots(extra_pem: Option<&[u8]>) -> Result<RootCertStore, HttpSetupError> {
    let mut roots = RootCertStore::from_iter(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    if let Some(pem) = extra_pem {
        let public_roots = roots.len();
        for certificate in CertificateDer::pem_slice_iter(pem) {
            roots.add(certificate?)?;
        }
        if roots.len() == public_roots {
            return Err(HttpSetupError::RootsEmpty);
        }
    }
    Ok(roots)
}
