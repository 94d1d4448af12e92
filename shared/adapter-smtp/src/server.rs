//! The mail server and how to connect to it: `smtps://user:password@host:port`.

use std::fmt;

use percent_encoding::percent_decode_str;
use url::{Host, Url};
use zeroize::Zeroizing;

/// The port for TLS from the first byte. <https://www.rfc-editor.org/rfc/rfc8314#section-3.3>
const TLS_PORT: u16 = 465;
/// The port for message submission. <https://www.rfc-editor.org/rfc/rfc6409#section-3.1>
const SUBMISSION_PORT: u16 = 587;

/// A mail server. Its debug output omits the password.
#[derive(Clone, PartialEq, Eq)]
pub struct Server {
    pub host: String,
    pub port: u16,
    pub security: Security,
    pub(crate) login: Option<(String, Zeroizing<String>)>,
}

/// How the connection is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Security {
    /// TLS from the first byte: `smtps://`.
    Tls,
    /// TLS before anything that matters; without it nothing is sent: `smtp://`.
    StartTls,
    /// Not at all: `smtp://…?tls=none`.
    None,
}

/// What is wrong with a server's URL. Never repeats the URL, which may contain a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadServer(&'static str);

impl Server {
    /// Parses a URL.
    ///
    /// # Errors
    /// If the URL does not name a mail server, or would send a password unencrypted.
    pub fn parse(text: &str) -> Result<Self, BadServer> {
        const FORM: BadServer = BadServer(
            "must be smtps://user:password@host:port or smtp://user:password@host:port; \
             percent-encode special characters, such as %40 for @",
        );
        let url = Url::parse(text).map_err(|_| FORM)?;
        let is_bare = matches!(url.path(), "" | "/") && url.fragment().is_none();
        let host = url.host().filter(|_| is_bare).ok_or(FORM)?;
        let security = match (url.scheme(), url.query()) {
            ("smtps", None) => Security::Tls,
            ("smtp", None | Some("tls=starttls")) => Security::StartTls,
            ("smtp", Some("tls=none")) => Security::None,
            ("smtp" | "smtps", Some(_)) => {
                return Err(BadServer(
                    "may end in ?tls=starttls or ?tls=none, with smtp:// only",
                ));
            }
            _ => return Err(FORM),
        };
        let login = login(&url)?;
        if security == Security::None && login.is_some() && !is_loopback(&host) {
            return Err(BadServer(
                "must not send a password in the clear: use smtps://, or smtp:// without ?tls=none",
            ));
        }
        let usual = match security {
            Security::Tls => TLS_PORT,
            Security::StartTls | Security::None => SUBMISSION_PORT,
        };
        Ok(Self {
            host: host_name(&host),
            port: url.port().unwrap_or(usual),
            security,
            login,
        })
    }
}

fn login(url: &Url) -> Result<Option<(String, Zeroizing<String>)>, BadServer> {
    let plain = |text: &str| {
        let decoded = percent_decode_str(text).decode_utf8();
        decoded.map_or(Err(BadServer("user and password must be UTF-8")), |text| {
            Ok(text.into_owned())
        })
    };
    match (url.username(), url.password()) {
        ("", None) => Ok(None),
        ("", Some(_)) => Err(BadServer("has a password but no user")),
        (_, None) => Err(BadServer("has a user but no password")),
        (user, Some(password)) => Ok(Some((plain(user)?, Zeroizing::new(plain(password)?)))),
    }
}

/// For schemes outside the URL standard, addresses are not parsed.
fn host_name(host: &Host<&str>) -> String {
    match host {
        Host::Domain(name) => (*name).to_owned(),
        Host::Ipv4(address) => address.to_string(),
        Host::Ipv6(address) => address.to_string(),
    }
}

fn is_loopback(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => {
            let address = name.parse::<std::net::Ipv4Addr>();
            *name == "localhost" || address.is_ok_and(|address| address.is_loopback())
        }
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("host", &self.host)
            .field("port", &self.port)
            .field("security", &self.security)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<(String, u16, Security), String> {
        let server = Server::parse(text).map_err(|bad| bad.to_string())?;
        Ok((server.host, server.port, server.security))
    }

    #[test]
    fn the_scheme_says_how_the_connection_is_encrypted() {
        let host = || "mail.example.com".to_owned();
        for (text, port, security) in [
            ("smtps://mail.example.com", 465, Security::Tls),
            ("smtps://u:p@mail.example.com:2465", 2465, Security::Tls),
            ("smtp://mail.example.com", 587, Security::StartTls),
            (
                "smtp://u:p@mail.example.com/?tls=starttls",
                587,
                Security::StartTls,
            ),
            ("smtp://mail.example.com:25?tls=none", 25, Security::None),
        ] {
            assert_eq!(parsed(text), Ok((host(), port, security)), "{text}");
        }
        assert_eq!(parsed("smtp://[::1]:25").unwrap().0, "::1");
    }

    #[test]
    fn user_and_password_are_decoded_and_the_password_is_never_shown() {
        let server = Server::parse("smtps://ops%40example.com:p%40ss%2Fw%3Ard@mail.example.com");
        let server = server.unwrap();
        let (user, password) = server.login.clone().unwrap();
        assert_eq!(
            (user.as_str(), password.as_str()),
            ("ops@example.com", "p@ss/w:rd")
        );
        let shown = format!("{server:?}");
        assert!(
            shown.contains("mail.example.com") && !shown.contains("p@ss"),
            "{shown}"
        );
    }

    #[test]
    fn an_invalid_url_is_rejected_and_not_repeated() {
        for text in [
            "",
            "mail.example.com:587",
            "http://u:secret@mail.example.com",
            "smtp:///tls",
            "smtp://u:secret@mail.example.com/inbox",
            "smtp://u:secret@mail.example.com?tls=maybe",
            "smtps://u:secret@mail.example.com?tls=none",
            "smtp://user@mail.example.com",
            "smtp://:secret@mail.example.com",
            "smtp://u:%ff@mail.example.com",
        ] {
            let error = parsed(text).unwrap_err();
            assert!(!error.contains("secret"), "{text}: {error}");
        }
    }

    #[test]
    fn a_password_is_sent_unencrypted_to_this_machine_only() {
        let plain = |host: &str| parsed(&format!("smtp://u:p@{host}:25?tls=none"));
        for host in ["localhost", "127.0.0.1", "[::1]"] {
            assert!(plain(host).is_ok(), "{host}");
        }
        for host in ["mail.example.com", "10.0.0.1", "[2001:db8::1]"] {
            assert!(plain(host).unwrap_err().contains("in the clear"), "{host}");
        }
    }
}
