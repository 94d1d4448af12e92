//! The only way out: every connection is opened here, after its addresses were checked.

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_util::rt::TokioIo;
use postrider_domain::egress::{Rules, UrlScheme};
use postrider_domain::outcome::{Failure, Phase};
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tower_service::Service;

use crate::connection::{HttpConnection, Stream};
use crate::dial::dial;
use crate::dialling::Dialling;
use crate::failure::{self, DialError, NoConnection};
use crate::resolve::Names;

/// Resolves once, blocks the request if any of the addresses is not allowed, dials exactly what it checked. Cheap to
/// clone.
#[derive(Clone)]
pub(crate) struct Connector(Arc<Parts>);

struct Parts {
    rules: Rules,
    names: Names,
    tls: TlsConnector,
    connect_timeout: Duration,
}

/// The receiver's endpoint, as a URL names it.
pub(crate) struct Endpoint<'a> {
    scheme: UrlScheme,
    host: &'a str,
    port: u16,
}

impl Connector {
    pub(crate) fn new(
        rules: Rules,
        names: Names,
        tls: TlsConnector,
        connect_timeout: Duration,
    ) -> Self {
        Self(Arc::new(Parts {
            rules,
            names,
            tls,
            connect_timeout,
        }))
    }
}

impl Service<Uri> for Connector {
    type Response = TokioIo<HttpConnection>;
    type Error = DialError;
    type Future = Pin<Box<dyn Future<Output = Result<TokioIo<HttpConnection>, DialError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), DialError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connector = self.clone();
        let dialling = Dialling::current(self.0.connect_timeout);
        Box::pin(async move {
            let opened = timeout(dialling.budget, connector.open(&uri, &dialling)).await;
            let opened = opened.unwrap_or_else(|_| {
                let phase = dialling.steps().phase;
                Err(failure::not_connected(phase, dialling.budget))
            });
            opened.map_err(DialError)
        })
    }
}

impl Connector {
    async fn open(
        &self,
        uri: &Uri,
        dialling: &Arc<Dialling>,
    ) -> Result<TokioIo<HttpConnection>, NoConnection> {
        let endpoint = Endpoint::of(uri)?;
        let begun_at = dialling.steps().since;
        let addresses = self.checked_addresses(&endpoint, Some(dialling)).await?;
        dialling.enter(Phase::Connect);
        let left = dialling.budget.saturating_sub(begun_at.elapsed());
        let tcp = dial(&addresses, endpoint.port, left).await?;
        let stream = match endpoint.scheme {
            UrlScheme::Http => Stream::Plain(tcp),
            UrlScheme::Https => {
                dialling.enter(Phase::Tls);
                Stream::Tls(Box::new(self.handshake(&endpoint, tcp).await?))
            }
        };
        dialling.enter(Phase::FirstByte);
        Ok(TokioIo::new(HttpConnection::new(
            stream,
            Arc::clone(dialling),
        )))
    }

    /// The addresses of an endpoint, every one of them checked.
    pub(crate) async fn checked_addresses(
        &self,
        endpoint: &Endpoint<'_>,
        dialling: Option<&Dialling>,
    ) -> Result<Vec<IpAddr>, NoConnection> {
        let check = |ip| {
            let rules = &self.0.rules;
            rules.check_address(ip, endpoint.scheme, endpoint.port)
        };
        if let Some(ip) = endpoint.literal() {
            let ip = ip.to_canonical();
            check(ip).map_err(|blocked| failure::blocked(&blocked, Phase::Check))?;
            return Ok(vec![ip]);
        }
        if let Some(dialling) = dialling {
            dialling.enter(Phase::Dns);
        }
        let addresses = self.0.names.addresses_of(endpoint.host).await?;
        for ip in &addresses {
            check(*ip).map_err(|blocked| failure::blocked_name(&blocked, endpoint.host))?;
        }
        Ok(addresses)
    }

    async fn handshake(
        &self,
        endpoint: &Endpoint<'_>,
        tcp: TcpStream,
    ) -> Result<TlsStream<TcpStream>, Failure> {
        let name = endpoint
            .server_name()
            .ok_or_else(|| failure::no_such_name(endpoint.host))?;
        self.0
            .tls
            .connect(name, tcp)
            .await
            .map_err(|error| failure::from_handshake(endpoint.host, &error))
    }
}

impl<'a> Endpoint<'a> {
    /// The endpoint of a URI that was built from a checked URL.
    pub(crate) fn of(uri: &'a Uri) -> Result<Self, Failure> {
        let scheme = UrlScheme::parse(uri.scheme_str().unwrap_or_default());
        let scheme = scheme.map_err(|blocked| failure::blocked(&blocked, Phase::Check))?;
        let port = uri.port_u16().unwrap_or(match scheme {
            UrlScheme::Https => 443,
            UrlScheme::Http => 80,
        });
        Ok(Self {
            scheme,
            host: uri.host().unwrap_or_default(),
            port,
        })
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    fn literal(&self) -> Option<IpAddr> {
        let bare = self
            .host
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
            .unwrap_or(self.host);
        bare.parse().ok()
    }

    /// The name that the certificate must be for, without the trailing dot of a fully qualified name.
    fn server_name(&self) -> Option<ServerName<'static>> {
        if let Some(ip) = self.literal() {
            return Some(ServerName::from(ip));
        }
        let name = self.host.strip_suffix('.').unwrap_or(self.host);
        ServerName::try_from(name.to_owned()).ok()
    }
}
