//! The sender of a function.

use postrider_adapter_http::{HttpSender, SenderSettings};
use postrider_domain::egress::Rules;

/// A sender that goes where these rules allow.
///
/// # Errors
/// When the resolver or TLS cannot be set up.
pub fn sender(rules: Rules) -> anyhow::Result<HttpSender> {
    Ok(HttpSender::new(SenderSettings {
        rules,
        ..SenderSettings::default()
    })?)
}
