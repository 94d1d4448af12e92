//! What is hidden when a delivery or a rejected request is shown.

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

/// A query without the value of Meta's token.
#[must_use]
pub fn without_token(query: &str) -> String {
    let shown = query.split('&').map(|pair| match pair.split_once('=') {
        Some((name, _)) if name == VERIFY_TOKEN => format!("{name}=(hidden)"),
        Some(_) | None => pair.to_owned(),
    });
    shown.collect::<Vec<_>>().join("&")
}
