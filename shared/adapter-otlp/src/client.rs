//! The HTTP client that sends batches to the collector.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use opentelemetry_http::{HttpClient, HttpError};
use rustls::crypto::aws_lc_rs;
use rustls::{ClientConfig, RootCertStore};
use tokio::runtime::Handle;

use crate::SEND_TIMEOUT;
use crate::collector::CollectorHealth;

/// The largest response that is read: it contains at most the number of rejected spans and the reason.
const MAX_ANSWER_BYTES: usize = 64 * 1024;
/// A collector is nearby; if it does not connect within this time, it is not running.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

type Inner = legacy::Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// Posts batches. The exporter calls it from its own thread, so the client holds a handle to the runtime.
#[derive(Debug)]
pub(crate) struct Client {
    runtime: Handle,
    inner: Inner,
    health: Arc<CollectorHealth>,
}

impl Client {
    pub(crate) fn new(health: Arc<CollectorHealth>) -> Result<Self, rustls::Error> {
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
        connector.enforce_http(false);
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls()?)
            .https_or_http()
            .enable_http1()
            .wrap_connector(connector);
        Ok(Self {
            runtime: Handle::current(),
            inner: legacy::Client::builder(TokioExecutor::new()).build(connector),
            health,
        })
    }
}

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let exchange = exchange(self.inner.clone(), request);
        // Created inside the runtime, too, because a timer belongs to a runtime.
        let in_time = async { tokio::time::timeout(SEND_TIMEOUT, exchange).await };
        let done = self.runtime.spawn(in_time).await;
        let answer = done
            .map_err(HttpError::from)
            .and_then(|in_time| in_time.map_err(HttpError::from))
            .flatten();
        match &answer {
            Ok(answer) if answer.status().is_success() => self.health.worked(),
            Ok(answer) => self.health.failed(&answer.status().to_string()),
            Err(error) => self.health.failed(&error.to_string()),
        }
        answer
    }
}

async fn exchange(client: Inner, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
    let answer = client.request(request.map(Full::new)).await?;
    let (head, body) = answer.into_parts();
    let body = Limited::new(body, MAX_ANSWER_BYTES).collect().await?;
    Ok(Response::from_parts(head, body.to_bytes()))
}

/// Trusts the public authorities. The provider is explicit, so that another crate's choice of a process-wide provider
/// does not matter.
fn tls() -> Result<ClientConfig, rustls::Error> {
    let roots = RootCertStore::from_iter(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
    Ok(config
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth())
}
