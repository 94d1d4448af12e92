//! The only way out: every connection is opened here, after its addresses were checked.

use http::Uri;
use postrider_domain::egress::{Rules, UrlScheme};
use postrider_domain::outcome::{Failure, Phase};
use rustls::pki_types::ServerName;
use std::net::IpAddr;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::connection::{Connection, Stream};
use crate::dial::dial;
use crate::dialling::Dialling;
use crate::failure::{self, NoConnection};
use crate::resolve::Names;

/// Resolves once, blocks the request if any of the addresses is not allowed, dials exactly what it checked.
pub(crate) struct Connector {
    pub(crate) rules: Rules,
    pub(crate) names: Names,
    pub(crate) tls: TlsConnector,
}

/// The receiver's endpoint, as a URL names it.
pub(crate) struct Endpoint<'a> {
    scheme: UrlScheme,
    host: &'a str,
    port: u16,
}

impl Connector {
    pub(crate) async fn open(
        &self,
        uri: &Uri,
        dialling: &Dialling,
    ) -> Result<Connection, NoConnection> {
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
        let connection = Connection::over(stream).await;
        connection.map_err(|error| failure::without_response(&error).into())
    }

    /// The addresses of an endpoint, every one of them checked.
    pub(crate) async fn checked_addresses(
        &self,
        endpoint: &Endpoint<'_>,
        dialling: Option<&Dialling>,
    ) -> Result<Vec<IpAddr>, NoConnection> {
        let check = |ip| {
            let rules = &self.rules;
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
        let addresses = self.names.addresses_of(endpoint.host).await?;
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
        self.tls
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
