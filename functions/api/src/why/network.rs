//! No answer came: where on the way it ended, and what that means.

use postrider_domain::outcome::FailureKind;
use url::Url;

use super::Told;

/// Explains a failure of this kind in this phase; `timeout` is the webhook's, in seconds.
pub(super) fn told(
    kind: FailureKind,
    phase: Option<&str>,
    detail: &str,
    target: &str,
    timeout: Option<u64>,
) -> Told {
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
            format!("The name {host} could not be resolved"),
            format!("DNS has no usable answer for it: {detail}."),
            &[
                "Check the spelling of the host in the webhook's URL.",
                "Look the name up yourself (dig or nslookup) from where the gateway runs; a new record can take a while to be seen.",
            ],
        ),
        FailureKind::Connect => (
            format!("Nobody answered at {host}, port {port}"),
            format!("The connection could not be made: {detail}."),
            &[
                "Check that the receiver runs and listens on this port.",
                "Check firewalls and security groups between the gateway and the receiver.",
            ],
        ),
        FailureKind::Timeout => timed_out(phase, &host, &seconds),
        FailureKind::Reset => (
            "The connection broke off".to_owned(),
            format!(
                "The receiver or something before it closed the connection before a status line came: {detail}."
            ),
            &[
                "Look into the receiver's log for a crash or a restart at this time.",
                "A proxy or load balancer before it may have a shorter timeout, or a limit on the size of requests.",
            ],
        ),
        FailureKind::Tls => (
            "The TLS handshake failed".to_owned(),
            format!(
                "The receiver could not prove who it is, or no common protocol was found: {detail}."
            ),
            &[
                "Check the certificate: not expired, made for this very host, with all intermediate certificates.",
                "A certificate of your own authority needs POSTRIDER_EGRESS_CA_FILE.",
            ],
        ),
        FailureKind::Malformed => (
            "What came back is no HTTP response".to_owned(),
            format!(
                "Something answers at {host}, port {port}, but it does not speak HTTP as it should: {detail}."
            ),
            &["Check the port, and whether the URL should begin with https:// or http://."],
        ),
        FailureKind::Blocked => (
            "The gateway's own rules refuse this address".to_owned(),
            format!(
                "Webhooks may not reach private, loopback or metadata addresses, so nothing was sent: {detail}."
            ),
            &[
                "If the URL is wrong, correct it in the webhook and retry.",
                "If the address is meant, whoever runs the gateway can open it with POSTRIDER_EGRESS_ALLOW.",
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
    phase: Option<&str>,
    host: &str,
    seconds: &str,
) -> (String, String, &'static [&'static str]) {
    match phase {
        Some("dns") => (
            format!("Looking up {host} took too long"),
            "The name servers did not answer in time.".to_owned(),
            &[
                "Check the name servers that the gateway uses (POSTRIDER_DNS_SERVERS or the machine's own).",
            ],
        ),
        Some("connect") => (
            format!("{host} did not take the connection in time"),
            "The packets go nowhere: most often a firewall drops them, or the host is down."
                .to_owned(),
            &[
                "Check that the receiver runs.",
                "Check firewalls and security groups: one that drops instead of refusing looks like this.",
            ],
        ),
        Some("tls") => (
            "The TLS handshake took too long".to_owned(),
            format!("{host} took the connection and then did not go on with the handshake."),
            &["Check whether this port really speaks TLS, and how busy the receiver is."],
        ),
        _ => (
            "The receiver took too long to answer".to_owned(),
            format!(
                "It has the request and did not answer within the time{seconds}. It may have done the work all the same."
            ),
            &[
                "Let the receiver answer 2xx at once and do the work afterwards; `webhook-id` tells it what it has seen.",
                "If it cannot be faster, raise the webhook's timeout (30 s at the most).",
            ],
        ),
    }
}
