//! Letters by SMTP, one connection each: they are few.

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

/// How long a letter may take, from the first byte to the server's word that it has it.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Codes by which a server does not let us in. They speak of our settings, not of the letter.
/// <https://www.rfc-editor.org/rfc/rfc4954#section-6>
const NOT_LET_IN: [u16; 4] = [530, 534, 535, 538];

const PEM_BEGIN: &[u8] = b"-----BEGIN CERTIFICATE-----";

/// Hands letters to one mail server.
pub struct SmtpMail {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: FromAddress,
}

/// The connection cannot be set up as told.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct BadTls(String);

impl SmtpMail {
    /// Letters from this sender by this server, which may show a certificate of these authorities (PEM) beside the public
    /// ones. Calls nobody yet.
    ///
    /// # Errors
    /// When the certificates cannot be read.
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
        // The library takes a file without any for an empty list.
        if !pem.windows(PEM_BEGIN.len()).any(|part| part == PEM_BEGIN) {
            return Err(BadTls("it holds no certificate".to_owned()));
        }
        tls = tls.add_root_certificate(Certificate::from_pem(pem).map_err(bad)?);
    }
    tls.build().map_err(bad)
}

#[async_trait]
impl Mail for SmtpMail {
    async fn send(&self, email: Email) -> Result<()> {
        let message = message::message(&self.from, email)?;
        // Once it is connected, the library waits for ever.
        match tokio::time::timeout(TIMEOUT, self.transport.send(message)).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(fault(&error)),
            Err(_) => Err(Error::Unavailable("smtp: it took too long".to_owned())),
        }
    }
}

/// A refusal of this letter, or trouble of the service.
fn fault(error: &SmtpError) -> Error {
    let said = format!("smtp: {}", in_full(error));
    let code = error.status().map(u16::from);
    if error.is_permanent() && !code.is_some_and(|code| NOT_LET_IN.contains(&code)) {
        Error::Broken(said)
    } else {
        Error::Unavailable(said)
    }
}

/// An error with what led to it.
fn in_full(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let said = next.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        cause = next.source();
    }
    text.replace(char::is_control, " ")
}
