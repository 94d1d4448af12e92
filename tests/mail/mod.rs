//! E-mails of the embedded gateway, read back from a real SMTP server.

mod delivery;
mod outage;
mod rejection;
mod server;

use http::Method;
use serde_json::{Value, json};

use crate::command::Serve;

const OPEN: (&str, &str) = ("POSTRIDER_EGRESS_ALLOW", "127.0.0.1/32");
const FROM: (&str, &str) = ("POSTRIDER_MAIL_FROM", "Postrider <alerts@example.com>");
const PUBLIC: (&str, &str) = ("POSTRIDER_PUBLIC_URL", "https://gateway.example.com");

/// Creates a webhook that fails with its first dead delivery; returns its id.
async fn failing_webhook(gateway: &Serve, target: &str, name: &str, owner: Option<&str>) -> String {
    let retry = json!({"profile": "custom", "delays_seconds": [1], "on_exhausted": "fail-webhook"});
    let draft = json!({"name": name, "target_url": target, "event_types": ["*"],
        "owner_email": owner, "retry": retry});
    let webhook = gateway
        .call(Method::POST, "/v1/webhooks", Some(draft))
        .await;
    webhook["id"].as_str().unwrap().to_owned()
}

/// The part of an e-mail with this type.
fn part<'a>(mail: &'a Value, kind: &str) -> &'a str {
    let parts = mail["parts"].as_array().unwrap();
    let part = parts.iter().find(|part| part[0] == kind);
    part.unwrap_or_else(|| panic!("{kind} in {mail}"))[1]
        .as_str()
        .unwrap()
}
