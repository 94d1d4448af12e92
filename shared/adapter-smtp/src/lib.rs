//! Sends e-mail over SMTP, one connection per message: there are few.

mod message;
mod server;

use std::time::Duration;

use async_trait::async_trait;
use lettre::transport::smtp::Error as SmtpError;
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Certificate, Tls, TlsParameters, TlsParametersBuilder};
use lettre::{AsyncSmtpTransport, AsyncTransport, Tokio1Executor};
use postrider_ports::mail::{Email, Mail};
use postrider_ports::{Error, Result};

pub use message::{BadAddress, FromAddress, is_address};
pub use server::{BadServer, Security, Server};

/// How long sending a message may take, from the first byte to the server's confirmation.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Codes with which a server denies access. They concern the settings, not the message.
/// <https://www.rfc-editor.org/rfc/rfc4954#section-6>
const ACCESS_DENIED: [u16; 4] = [530, 534, 535, 538];

const PEM_BEGIN: &[u8] = b"-----BEGIN CERTIFICATE-----";

/// Sends messages through one mail server.
pub struct SmtpMail {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: FromAddress,
}

/// The connection cannot be set up with these certificates.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct BadTls(String);

impl SmtpMail {
    /// Sends from this address through this server, whose certificate may be issued by one of these authorities (PEM)
    /// or by a public one. Makes no call yet.
    ///
    /// # Errors
    /// If the certificates cannot be read.
    pub fn new(
        server: Server,
        from: FromAddress,
        extra_roots_pem: Option<&[u8]>,
    ) -> std::result::Result<Self, BadTls> {
        let tls = match server.security {
            Security::Tls => Tls::Wrapper(parameters(&server.host, extra_roots_pem)?),
            Security::StartTls => Tls::Required(parameters(&server.host, extra_roots_pem)?),
            Security::None => Tls::None,
        };
        let mut transport = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(&server.host)
            .port(server.port)
            .tls(tls)
            .timeout(Some(TIMEOUT));
        if let Some((user, password)) = server.login {
            let credentials = Credentials::new(user, password.as_str().to_owned());
            transport = transport.credentials(credentials);
        }
        Ok(Self {
            transport: transport.build(),
            from,
        })
    }
}

fn parameters(
    host: &str,
    extra_roots_pem: Option<&[u8]>,
) -> std::result::Result<TlsParameters, BadTls> {
    let bad = |error: SmtpError| BadTls(error.to_string());
    let mut tls = TlsParametersBuilder::new(host.to_owned());
    if let Some(pem) = extra_roots_pem {
        // The library accepts a file without certificates as an empty list.
        if !pem.windows(PEM_BEGIN.len()).any(|part| part == PEM_BEGIN) {
            return Err(BadTls("it contains no certificate".to_owned()));
        }
        tls = tls.add_root_certificate(Certificate::from_pem(pem).map_err(bad)?);
    }
    tls.build().map_err(bad)
}

#[async_trait]
impl Mail for SmtpMail {
    async fn send(&self, email: Email) -> Result<()> {
        let message = message::message(&self.from, email)?;
        // Once connected, the library waits forever.
        match tokio::time::timeout(TIMEOUT, self.transport.send(message)).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(port_error(&error)),
            Err(_) => Err(Error::Unavailable("smtp: timed out".to_owned())),
        }
    }
}

/// A rejection of this message, or a failure of the server.
fn port_error(error: &SmtpError) -> Error {
    let text = format!("smtp: {}", with_causes(error));
    let code = error.status().map(u16::from);
    if error.is_permanent() && !code.is_some_and(|code| ACCESS_DENIED.contains(&code)) {
        Error::Broken(text)
    } else {
        Error::Unavailable(text)
    }
}

/// An error with its causes.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let reason = next.to_string();
        if !text.contains(&reason) {
            text = format!("{text}: {reason}");
        }
        cause = next.source();
    }
    text.replace(char::is_control, " ")
}
