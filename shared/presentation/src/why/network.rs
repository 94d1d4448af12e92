//! No response arrived: where the attempt ended, and what that means.

use postrider_domain::outcome::{FailureKind, Phase};
use postrider_domain::webhook::CONNECT_TIMEOUT;
use url::Url;

use super::Explanation;

const LOOK_UP: &str = "Look the name up from the machine where the gateway runs (dig or nslookup). A new record can take a while to propagate.";
const TRUST: &str = "If your own certificate authority issued it, set POSTRIDER_EGRESS_CA_FILE.";
const ALLOW: &str =
    "If the address is intended, the gateway's operator can allow it with POSTRIDER_EGRESS_ALLOW.";
const NAME_SERVERS: &str =
    "Check the name servers the gateway uses (POSTRIDER_DNS_SERVERS, or the system's).";

/// What only an operator of the gateway can do.
pub(super) const FOR_OPERATORS: [&str; 4] = [LOOK_UP, TRUST, ALLOW, NAME_SERVERS];

/// Explains a failure of this kind in this phase; `timeout` is the webhook's, in seconds.
pub(super) fn explain(
    kind: FailureKind,
    phase: Option<Phase>,
    detail: &str,
    target: &str,
    timeout: Option<u64>,
) -> Explanation {
    let url = Url::parse(target).ok();
    let host = url
        .as_ref()
        .and_then(Url::host_str)
        .unwrap_or("the receiver")
        .to_owned();
    let port = url
        .as_ref()
        .and_then(Url::port_or_known_default)
        .unwrap_or(443);
    let seconds = timeout.map_or_else(String::new, |seconds| format!(" of {seconds} s"));
    let (title, meaning, advice): (String, String, &[&str]) = match kind {
        FailureKind::Dns => (
            format!("{host} could not be resolved"),
            format!("DNS has no usable address for this name: {detail}."),
            &[
                "Check the spelling of the host in the webhook's URL.",
                LOOK_UP,
            ],
        ),
        FailureKind::Connect => (
            format!("Could not connect to {host}, port {port}"),
            format!("No connection was established: {detail}."),
            &[
                "Check that the receiver is running and listening on this port.",
                "Check firewalls and security groups between the gateway and the receiver.",
            ],
        ),
        FailureKind::Timeout => timed_out(phase, &host, &seconds),
        FailureKind::Reset => (
            "The connection was closed".to_owned(),
            format!(
                "The receiver, or a proxy in front of it, closed the connection before it sent a response: {detail}."
            ),
            &[
                "Check the receiver's log for a crash or restart at this time.",
                "A proxy or load balancer in front of it may have a shorter timeout or a request size limit.",
            ],
        ),
        FailureKind::Tls => (
            "The TLS handshake failed".to_owned(),
            format!(
                "The receiver's certificate could not be verified, or the two sides have no protocol in common: {detail}."
            ),
            &[
                "Check the certificate: it must not be expired, must name this host, and must be sent with all intermediate certificates.",
                TRUST,
            ],
        ),
        FailureKind::Malformed => (
            "The response is not valid HTTP".to_owned(),
            format!(
                "Something responded at {host}, port {port}, but not with valid HTTP: {detail}."
            ),
            &["Check the port, and whether the URL should begin with https:// or http://."],
        ),
        FailureKind::Blocked => (
            "The gateway blocks this address".to_owned(),
            format!(
                "Webhooks cannot target private, loopback or metadata addresses, so nothing was sent: {detail}."
            ),
            &[
                "If the URL is wrong, fix it in the webhook and retry.",
                ALLOW,
            ],
        ),
        FailureKind::Template => (
            "The template could not be rendered".to_owned(),
            format!(
                "Nothing was sent, because the webhook's template does not fit this event: {detail}."
            ),
            &[
                "Try the template on this event in the webhook's form, or with `postrider template test`.",
                "Fix the template and retry this delivery. A field that may be missing needs `default` or `if`.",
                "If the webhook should not get such events, narrow its event types or add a filter.",
            ],
        ),
    };
    (
        title,
        meaning,
        advice.iter().map(|text| (*text).to_owned()).collect(),
    )
}

fn timed_out(
    phase: Option<Phase>,
    host: &str,
    seconds: &str,
) -> (String, String, &'static [&'static str]) {
    let limit = format!(
        "A connection must be established within {} s, which includes DNS and TLS.",
        CONNECT_TIMEOUT.get() / 1000
    );
    match phase {
        Some(Phase::Dns) => (
            format!("Looking up {host} timed out"),
            format!("The name servers did not respond in time. {limit}"),
            &[NAME_SERVERS],
        ),
        Some(Phase::Connect) => (
            format!("Connecting to {host} timed out"),
            format!(
                "The receiver's network did not respond. Usually a firewall drops the packets or the host is down. {limit}"
            ),
            &[
                "Check that the receiver is running.",
                "Check firewalls and security groups for rules that drop packets without rejecting them.",
            ],
        ),
        Some(Phase::Tls) => (
            "The TLS handshake timed out".to_owned(),
            format!("{host} accepted the connection but did not finish the handshake. {limit}"),
            &["Check that this port speaks TLS, and how busy the receiver is."],
        ),
        Some(Phase::Render | Phase::Check | Phase::FirstByte | Phase::Body) | None => (
            "The receiver took too long to respond".to_owned(),
            format!(
                "The receiver got the request but did not respond within the timeout{seconds}. It may still have processed the event."
            ),
            &[
                "Have the receiver respond 2xx immediately and do the work afterwards. It can use `webhook-id` to skip events it has already processed.",
                "If it needs longer, raise the webhook's timeout (at most 30 s).",
            ],
        ),
    }
}
