//! What is hidden when a delivery or a rejected request is shown.

use std::net::{IpAddr, SocketAddr};

use http::HeaderName;
use http::header::{AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION};
use postrider_domain::delivery::Delivery;
use postrider_domain::key::{ApiKey, Scope};
use postrider_domain::scheme::Scheme;

const HIDDEN_SIGNATURE: &str = "sha256=***";
/// Meta's handshake carries the token here; it is never shown.
const VERIFY_TOKEN: &str = "hub.verify_token";

/// A row as this key may see it. A body with its signature can be replayed to the receiver, which is more than reading.
#[must_use]
pub fn seen_with(key: &ApiKey, row: Delivery) -> Delivery {
    let is_hidden = !key.allows(Scope::Manage) && !row.signature.is_empty();
    Delivery {
        signature: if is_hidden {
            HIDDEN_SIGNATURE.to_owned()
        } else {
            row.signature
        },
        ..row
    }
}

/// Whether a header of this name may hold a secret, in any scheme: a sender that has the right secret may use a
/// different scheme from its source.
#[must_use]
pub fn is_secret(scheme: &Scheme, name: &HeaderName) -> bool {
    [AUTHORIZATION, PROXY_AUTHORIZATION, COOKIE].contains(name)
        || scheme.sends_secret_in(name.as_str())
        || Scheme::all().any(|known| known.sends_secret_in(name.as_str()))
}

/// What stands for a hidden address.
const HIDDEN_ADDRESS: &str = "(address hidden)";

/// A text without IP addresses and ranges: an error names the address that a name resolved to, and a customer who chooses
/// the name would learn what is in the gateway's network.
#[must_use]
pub fn without_addresses(text: &str) -> String {
    let shown = text.split_inclusive(|c: char| c.is_whitespace() || "(),;`\"'".contains(c));
    let shown = shown.map(|piece| {
        let word = piece.trim_matches(|c: char| c.is_whitespace() || "(),;`\"'".contains(c));
        let bare = word.trim_end_matches(['.', ':', '!', '?']);
        if is_address(bare) {
            piece.replacen(bare, HIDDEN_ADDRESS, 1)
        } else {
            piece.to_owned()
        }
    });
    shown.collect()
}

/// An address, maybe with a port or as a range.
fn is_address(word: &str) -> bool {
    let without_range = word.split_once('/').map_or(word, |(address, _)| address);
    let without_brackets = without_range.trim_start_matches('[').trim_end_matches(']');
    without_brackets.parse::<IpAddr>().is_ok() || word.parse::<SocketAddr>().is_ok()
}

/// A query without the value of Meta's token.
#[must_use]
pub fn without_token(query: &str) -> String {
    let shown = query.split('&').map(|pair| match pair.split_once('=') {
        Some((name, _)) if name == VERIFY_TOKEN => format!("{name}=(hidden)"),
        Some(_) | None => pair.to_owned(),
    });
    shown.collect::<Vec<_>>().join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_address_is_left_in_a_text() {
        for (given, shown) in [
            (
                "refused: the address 10.0.0.5 is private (10.0.0.0/8); use a public address",
                "refused: the address (address hidden) is private ((address hidden)); use a public address",
            ),
            (
                "10.1.2.3:8443 did not answer within 5s",
                "(address hidden) did not answer within 5s",
            ),
            (
                "name server [fd00::53]:53 failed; tried fd00::53, ::1.",
                "name server (address hidden) failed; tried (address hidden), (address hidden).",
            ),
            ("`169.254.169.254`", "`(address hidden)`"),
        ] {
            assert_eq!(without_addresses(given), shown);
        }
        for plain in ["HTTP status 500", "ends at 10:30: retry 1.5 s", "a\nb  c"] {
            assert_eq!(without_addresses(plain), plain);
        }
    }
}
