use std::net::IpAddr;
use std::sync::Arc;

use ipnet::{IpNet, Ipv4Net};
use url::{Host, Url};

use super::{Blocked, MAX_URL_CHARS, address, name};

const USUAL_PORTS: [u16; 2] = [80, 443];

/// What the operator allows beyond public addresses over https.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Addresses that may be reached on any port and over plain http.
    pub allow: Vec<IpNet>,
    /// Addresses that may never be reached, whatever `allow` says: the network that the gateway itself runs in.
    pub deny: Vec<IpNet>,
    /// Whether public addresses may be reached over plain http.
    pub http_allowed: bool,
    /// Ports in addition to 80 and 443.
    pub extra_ports: Vec<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    #[error(
        "{0} has no effect: allow loopback, link-local and metadata addresses one by one, as /32 or /128"
    )]
    AllowOpensNothing(IpNet),
    #[error("port 0 cannot be allowed")]
    PortZero,
}

/// Where requests may go. Cheap to clone. The default allows only public addresses over https.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    allow: Arc<[IpNet]>,
    deny: Arc<[IpNet]>,
    http_allowed: bool,
    extra_ports: Arc<[u16]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UrlScheme {
    Https,
    Http,
}

impl UrlScheme {
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
    /// # Errors
    /// All invalid settings, not just the first.
    pub fn new(settings: Settings) -> Result<Self, Vec<SettingsError>> {
        let Settings {
            allow,
            deny,
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
            deny: deny.into_iter().map(canonical).collect(),
            http_allowed,
            extra_ports: extra_ports.into(),
        })
    }

    /// Checks the form of a URL, and its address if the host is an IP address. Store and send the returned URL, not the
    /// text: parsers disagree about the text, but not about what one of them serialised.
    pub fn check_url(&self, text: &str) -> Result<Url, Blocked> {
        let chars = text.chars().count();
        if chars > MAX_URL_CHARS {
            return Err(Blocked::TooLong { chars });
        }
        let url = Url::parse(text).map_err(Blocked::Unreadable)?;
        self.check(&url)?;
        Ok(url)
    }

    /// As [`Rules::check_url`], for a parsed URL.
    pub fn check(&self, url: &Url) -> Result<(), Blocked> {
        // The scheme comes first: other schemes' hosts are not parsed, and the host of `gopher://127.0.0.1` is a name.
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
                // The name may resolve to an address that is allowed on any port and over plain http.
                if self.allow.is_empty() || port == 0 {
                    self.check_way(scheme, port)
                } else {
                    Ok(())
                }
            }
        }
    }

    /// Checks an address that a request is about to be sent to.
    pub fn check_address(&self, ip: IpAddr, scheme: UrlScheme, port: u16) -> Result<(), Blocked> {
        let ip = ip.to_canonical();
        if let Some(range) = self.denied(ip) {
            return Err(Blocked::Denied { ip, range });
        }
        if port != 0 && self.is_open(ip) {
            return Ok(());
        }
        address::check_public(ip)?;
        self.check_way(scheme, port)
    }

    /// The denied range that contains this address, or one embedded in it.
    fn denied(&self, ip: IpAddr) -> Option<IpNet> {
        let mut ranges = self.deny.iter().copied();
        ranges.find(|range| address::with_embedded(ip).any(|ip| range.contains(&ip)))
    }

    fn is_open(&self, ip: IpAddr) -> bool {
        let is_exact = |range: &IpNet| range.prefix_len() == range.max_prefix_len();
        let mut ranges = self.allow.iter().filter(|range| range.contains(&ip));
        ranges.any(|range| is_exact(range) || !address::needs_exact_name(ip))
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

/// Addresses are compared in canonical form, so the range `::ffff:10.0.0.0/104` has to become 10.0.0.0/8.
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
