//! The rules themselves: what the operator opened, and the checks.

use std::net::IpAddr;
use std::sync::Arc;

use ipnet::{IpNet, Ipv4Net};
use url::{Host, Url};

use super::{Blocked, MAX_URL_CHARS, address, name};

/// The ports that are always open.
const USUAL_PORTS: [u16; 2] = [80, 443];

/// What the operator opened beyond public addresses over https.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Addresses that may be reached on any port and over plain http.
    pub allow: Vec<IpNet>,
    /// Whether public addresses may be reached over plain http.
    pub http_allowed: bool,
    /// Ports beside 80 and 443.
    pub extra_ports: Vec<u16>,
}

/// A setting that cannot mean what it says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// A range of addresses that have to be named one by one.
    #[error(
        "{0} opens nothing: loopback, link-local and metadata addresses are opened one by one, by a /32 or /128"
    )]
    AllowOpensNothing(IpNet),
    /// Port 0 cannot be connected to.
    #[error("port 0 cannot be opened")]
    PortZero,
}

/// Where requests may go. Cheap to clone. The default opens nothing beyond public addresses over https.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    allow: Arc<[IpNet]>,
    http_allowed: bool,
    extra_ports: Arc<[u16]>,
}

/// How a receiver is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UrlScheme {
    /// HTTP over TLS.
    Https,
    /// Plain HTTP.
    Http,
}

impl UrlScheme {
    /// Reads a URL's scheme.
    ///
    /// # Errors
    /// When it is neither https nor http.
    pub fn parse(scheme: &str) -> Result<Self, Blocked> {
        match scheme {
            "https" => Ok(Self::Https),
            "http" => Ok(Self::Http),
            other => Err(Blocked::UrlScheme {
                scheme: other.chars().take(32).collect(),
            }),
        }
    }
}

impl Rules {
    /// The rules that these settings make.
    ///
    /// # Errors
    /// When settings cannot mean what they say; every one of them is named.
    pub fn new(settings: Settings) -> Result<Self, Vec<SettingsError>> {
        let Settings {
            allow,
            http_allowed,
            extra_ports,
        } = settings;
        let allow: Vec<IpNet> = allow.into_iter().map(canonical).collect();
        let useless = allow.iter().filter(|range| address::opens_nothing(range));
        let mut errors: Vec<_> = useless
            .copied()
            .map(SettingsError::AllowOpensNothing)
            .collect();
        if extra_ports.contains(&0) {
            errors.push(SettingsError::PortZero);
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        Ok(Self {
            allow: allow.into(),
            http_allowed,
            extra_ports: extra_ports.into(),
        })
    }

    /// Checks the form of a URL, and its address if it names one instead of a host. The answer is what shall be stored
    /// and sent: parsers disagree about the text, but not about what one of them wrote.
    ///
    /// # Errors
    /// When the URL may not be used; the reason is meant for its author.
    pub fn check_url(&self, text: &str) -> Result<Url, Blocked> {
        let chars = text.chars().count();
        if chars > MAX_URL_CHARS {
            return Err(Blocked::TooLong { chars });
        }
        let url = Url::parse(text).map_err(Blocked::Unreadable)?;
        self.check(&url)?;
        Ok(url)
    }

    /// As [`Rules::check_url`], for a URL that was read before.
    ///
    /// # Errors
    /// When the URL may not be used.
    pub fn check(&self, url: &Url) -> Result<(), Blocked> {
        // First of all: under other schemes a host is not parsed as one, so that `gopher://127.0.0.1` is a name.
        let scheme = UrlScheme::parse(url.scheme())?;
        if url.as_str().len() > MAX_URL_CHARS {
            return Err(Blocked::TooLong {
                chars: url.as_str().len(),
            });
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Blocked::UserInfo);
        }
        if url.fragment().is_some() {
            return Err(Blocked::Fragment);
        }
        let port = url.port_or_known_default().unwrap_or(0);
        match url.host() {
            None => Err(Blocked::NoHost),
            Some(Host::Ipv4(ip)) => self.check_address(ip.into(), scheme, port),
            Some(Host::Ipv6(ip)) => self.check_address(ip.into(), scheme, port),
            Some(Host::Domain(name)) => {
                name::check(name)?;
                // A name may turn out to lead to an address that is open on any port and over plain http.
                if self.allow.is_empty() || port == 0 {
                    self.check_way(scheme, port)
                } else {
                    Ok(())
                }
            }
        }
    }

    /// Checks an address that a request is about to be sent to.
    ///
    /// # Errors
    /// When nothing may be sent there.
    pub fn check_address(&self, ip: IpAddr, scheme: UrlScheme, port: u16) -> Result<(), Blocked> {
        let ip = ip.to_canonical();
        if port != 0 && self.is_open(ip) {
            return Ok(());
        }
        address::check_public(ip)?;
        self.check_way(scheme, port)
    }

    fn is_open(&self, ip: IpAddr) -> bool {
        let is_exact = |range: &IpNet| range.prefix_len() == range.max_prefix_len();
        let mut holes = self.allow.iter().filter(|range| range.contains(&ip));
        holes.any(|range| is_exact(range) || !address::needs_exact_name(ip))
    }

    fn check_way(&self, scheme: UrlScheme, port: u16) -> Result<(), Blocked> {
        if scheme == UrlScheme::Http && !self.http_allowed {
            return Err(Blocked::PlainHttp);
        }
        if USUAL_PORTS.contains(&port) || self.extra_ports.contains(&port) && port != 0 {
            return Ok(());
        }
        Err(Blocked::Port {
            port,
            allowed: USUAL_PORTS
                .iter()
                .chain(self.extra_ports.iter())
                .copied()
                .collect(),
        })
    }
}

/// Addresses are compared in canonical form, so a hole written as `::ffff:10.0.0.0/104` has to be 10.0.0.0/8.
fn canonical(range: IpNet) -> IpNet {
    let IpNet::V6(v6) = range else {
        return range.trunc();
    };
    let mapped = v6
        .addr()
        .to_ipv4_mapped()
        .zip(v6.prefix_len().checked_sub(96));
    mapped
        .and_then(|(ip, prefix)| Ipv4Net::new(ip, prefix).ok())
        .map_or(range, IpNet::V4)
        .trunc()
}
