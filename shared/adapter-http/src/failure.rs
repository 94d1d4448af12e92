//! Failures as data: kind, phase and a reason in plain words. No reason repeats a URL's query or a body.

use std::error::Error as StdError;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use hickory_resolver::net::{DnsError, NetError};
use postrider_domain::egress::Blocked;
use postrider_domain::outcome::{Failure, FailureKind, Phase};
use postrider_domain::time::Millis;
use postrider_ports::sender::OwnFault;
use rustls::{CertificateError, Error as TlsError};

use crate::connection::TooMuch;
use crate::own_fault::{self, Blame};

/// The maximum size of a response head, in bytes.
pub(crate) const MAX_HEAD_BYTES: usize = 64 * 1024;

/// Why there is no connection.
#[derive(Clone, Debug)]
pub(crate) enum NoConnection {
    /// Because of the receiver.
    Failed(Failure),
    /// No route, or no name server answered: because of the receiver, unless it is the same for all of them.
    Unreachable(Failure),
    /// Because of this machine.
    Own(OwnFault),
}

impl From<Failure> for NoConnection {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl NoConnection {
    /// For a caller who only wants to read the reason.
    pub(crate) fn into_failure(self) -> Failure {
        match self {
            Self::Failed(failure) | Self::Unreachable(failure) => failure,
            Self::Own(fault) => failure(FailureKind::Connect, Phase::Check, fault.to_string()),
        }
    }
}

fn failure(kind: FailureKind, phase: Phase, detail: impl Into<String>) -> Failure {
    Failure {
        kind,
        phase,
        detail: detail.into(),
    }
}

pub(crate) fn blocked(blocked: &Blocked, phase: Phase) -> Failure {
    failure(FailureKind::Blocked, phase, blocked.to_string())
}

/// A name that resolves to a blocked address. To which one is for the operator: the owner of a webhook must not be able to
/// look up the gateway's own network.
pub(crate) fn blocked_name(blocked: &Blocked, host: &str) -> Failure {
    if !blocked.reveals_address() {
        return self::blocked(blocked, Phase::Dns);
    }
    tracing::info!(event = "egress.address_blocked", host, reason = %blocked, "a host resolves to a blocked address");
    failure(
        FailureKind::Blocked,
        Phase::Dns,
        "the host resolves to an address that is not allowed; use a public address",
    )
}

pub(crate) fn unsendable() -> Failure {
    failure(
        FailureKind::Blocked,
        Phase::Check,
        "the URL cannot be used in an HTTP request",
    )
}

pub(crate) fn timed_out(phase: Phase, after: Duration) -> Failure {
    let what = match phase {
        Phase::Render | Phase::Check => "nothing was sent",
        Phase::Dns => "the name could not be resolved",
        Phase::Connect => "no connection was established",
        Phase::Tls => "the TLS handshake did not complete",
        Phase::FirstByte => "no response arrived",
        Phase::Body => "the response did not complete",
    };
    failure(
        FailureKind::Timeout,
        phase,
        format!("{what} within {}", Millis::from(after)),
    )
}

/// No connection was established in time.
pub(crate) fn not_connected(phase: Phase, after: Duration) -> NoConnection {
    let failure = timed_out(phase, after);
    match phase {
        Phase::Dns => NoConnection::Unreachable(failure),
        Phase::Render
        | Phase::Check
        | Phase::Connect
        | Phase::Tls
        | Phase::FirstByte
        | Phase::Body => NoConnection::Failed(failure),
    }
}

pub(crate) fn no_such_name(name: &str) -> Failure {
    failure(
        FailureKind::Dns,
        Phase::Dns,
        format!("the name {name} does not exist"),
    )
}

pub(crate) fn no_address(name: &str) -> Failure {
    failure(
        FailureKind::Dns,
        Phase::Dns,
        format!("{name} has no address"),
    )
}

pub(crate) fn from_dns(name: &str, error: &NetError) -> NoConnection {
    if error.is_nx_domain() {
        return no_such_name(name).into();
    }
    if error.is_no_records_found() {
        return no_address(name).into();
    }
    if let NetError::Dns(DnsError::ResponseCode(code)) = error {
        let detail = format!("the name server answered {code} for {name}");
        return failure(FailureKind::Dns, Phase::Dns, detail).into();
    }
    if let Some(fault) = own_fault::without_sockets() {
        return NoConnection::Own(fault);
    }
    let (kind, detail) = if matches!(error, NetError::Timeout) {
        let detail = format!("no name server answered in time for {name}");
        (FailureKind::Timeout, detail)
    } else {
        let detail = format!("the name {name} could not be resolved: {error}");
        (FailureKind::Dns, detail)
    };
    NoConnection::Unreachable(failure(kind, Phase::Dns, detail))
}

pub(crate) fn from_connect(to: SocketAddr, error: &io::Error) -> NoConnection {
    let detail = if error.kind() == io::ErrorKind::ConnectionRefused {
        format!("{to} refused the connection")
    } else {
        format!("cannot connect to {to}: {error}")
    };
    match own_fault::blame(error, to) {
        Blame::Own(kind) => NoConnection::Own(OwnFault { kind, detail }),
        Blame::Receiver => failure(FailureKind::Connect, Phase::Connect, detail).into(),
        Blame::Unreachable => {
            NoConnection::Unreachable(failure(FailureKind::Connect, Phase::Connect, detail))
        }
    }
}

pub(crate) fn no_connection(to: SocketAddr, after: Duration) -> Failure {
    let detail = format!("{to} did not answer within {}", Millis::from(after));
    failure(FailureKind::Timeout, Phase::Connect, detail)
}

pub(crate) fn from_handshake(host: &str, error: &io::Error) -> Failure {
    let detail = match error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<TlsError>())
    {
        Some(TlsError::InvalidCertificate(problem)) => certificate_problem(host, problem),
        Some(TlsError::InvalidMessage(_)) => format!("{host} does not speak TLS on this port"),
        Some(other) => format!("the TLS handshake failed: {other}"),
        None => format!("the connection closed during the TLS handshake: {error}"),
    };
    failure(FailureKind::Tls, Phase::Tls, detail)
}

fn certificate_problem(host: &str, problem: &CertificateError) -> String {
    use CertificateError::{
        Expired, ExpiredContext, NotValidForName, NotValidForNameContext, NotValidYet,
        NotValidYetContext, UnknownIssuer,
    };
    let what = if matches!(problem, Expired | ExpiredContext { .. }) {
        "has expired"
    } else if matches!(problem, NotValidYet | NotValidYetContext { .. }) {
        "is not valid yet"
    } else if matches!(problem, NotValidForName | NotValidForNameContext { .. }) {
        "is for another name"
    } else if matches!(problem, UnknownIssuer) {
        "is self-signed or issued by an authority that is not trusted"
    } else {
        return format!("the certificate of {host} is not valid: {problem}");
    };
    format!("the certificate of {host} {what}")
}

/// The failure of a request that had a connection and got no response.
pub(crate) fn without_response(error: &hyper::Error) -> Failure {
    if let Some(too_much) = find::<TooMuch>(error) {
        return failure(
            FailureKind::Malformed,
            Phase::FirstByte,
            too_much.to_string(),
        );
    }
    let (kind, detail) = if error.is_parse_too_large() {
        let kib = MAX_HEAD_BYTES / 1024;
        let detail =
            format!("the response has more than 100 headers or more than {kib} KiB of them");
        (FailureKind::Malformed, detail)
    } else if error.is_parse() {
        let detail = format!("the response is not valid HTTP/1.1: {error}");
        (FailureKind::Malformed, detail)
    } else {
        (FailureKind::Reset, interrupted(error))
    };
    failure(kind, Phase::FirstByte, detail)
}

fn interrupted(error: &hyper::Error) -> String {
    if error.is_canceled() {
        "the receiver closed the connection, or sent data, before the request was sent".to_owned()
    } else if error.is_incomplete_message() {
        "the receiver closed the connection before responding".to_owned()
    } else if let Some(cause) = find::<io::Error>(error) {
        format!("the connection failed before a response arrived: {cause}")
    } else {
        format!("the connection failed before a response arrived: {error}")
    }
}

/// The first cause of this type. An I/O error hides its cause from the chain, so its inner error is checked, too.
fn find<'a, E: StdError + 'static>(error: &'a (dyn StdError + 'static)) -> Option<&'a E> {
    let mut next = Some(error);
    while let Some(cause) = next {
        if let Some(found) = cause.downcast_ref() {
            return Some(found);
        }
        let within = cause
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref);
        if let Some(found) = within.and_then(|inner| inner.downcast_ref()) {
            return Some(found);
        }
        next = cause.source();
    }
    None
}
