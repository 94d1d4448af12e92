//! Handshakes: some senders verify that the URL belongs to its owner before they send events.

use serde_json::json;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::inbound::{Inbound, is_genuine};
use crate::scheme::{Handshake, query_field, text_at, word_at};
use crate::secret::SharedSecret;
use crate::signature;
use crate::source::Source;
use crate::time::Timestamp;

const MAX_ECHO_BYTES: usize = 256;

/// The response to a handshake; no event is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandshakeReply {
    pub status: u16,
    pub content_type: &'static str,
    pub body: String,
}

impl HandshakeReply {
    const fn text(body: String) -> Self {
        Self {
            status: 200,
            content_type: "text/plain; charset=utf-8",
            body,
        }
    }

    fn json(body: &serde_json::Value) -> Self {
        Self {
            status: 200,
            content_type: "application/json",
            body: body.to_string(),
        }
    }
}

/// The response to a genuine handshake. Every other request is left to [`verify`](crate::inbound::verify), which
/// rejects forged handshakes: Discord sends some on purpose.
#[must_use]
pub fn handshake(inbound: &Inbound, source: &Source, now: Timestamp) -> Option<HandshakeReply> {
    match source.settings.scheme.handshake? {
        Handshake::Slack => slack(inbound, source, now),
        Handshake::Zoom => zoom(inbound, source, now),
        Handshake::Meta => meta(inbound, source, now),
        Handshake::Discord => discord(inbound, source, now),
    }
}

/// The secret that the request is signed with.
fn signer<'a>(inbound: &Inbound, source: &'a Source, now: Timestamp) -> Option<&'a SharedSecret> {
    let mut secrets = source.secrets.live(now);
    secrets.find(|secret| is_genuine(inbound, source, &[secret], now).is_ok())
}

/// <https://docs.slack.dev/reference/events/url_verification>
fn slack(inbound: &Inbound, source: &Source, now: Timestamp) -> Option<HandshakeReply> {
    if word_at(inbound, "/type")? != "url_verification" {
        return None;
    }
    signer(inbound, source, now)?;
    let challenge = word_at(inbound, "/challenge")?;
    Some(HandshakeReply::text(challenge)).filter(|reply| reply.body.len() <= MAX_ECHO_BYTES)
}

/// <https://developers.zoom.us/docs/api/webhooks/#validate-your-webhook-endpoint>. The response contains a digest keyed
/// with the secret that also signs events. So only a signed request gets one, and only for a token that cannot be a
/// signed message: those contain colons.
fn zoom(inbound: &Inbound, source: &Source, now: Timestamp) -> Option<HandshakeReply> {
    if word_at(inbound, "/event")? != "endpoint.url_validation" {
        return None;
    }
    let secret = signer(inbound, source, now)?;
    let token = word_at(inbound, "/payload/plainToken")?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_+/=".contains(&byte);
    if token.len() > MAX_ECHO_BYTES || !token.bytes().all(is_plain) {
        return None;
    }
    let mac = signature::hmac(secret.expose().as_bytes(), &[token.as_bytes()]);
    let encrypted = data_encoding::HEXLOWER.encode(&mac);
    Some(HandshakeReply::json(
        &json!({ "plainToken": token, "encryptedToken": encrypted }),
    ))
}

/// <https://developers.facebook.com/docs/graph-api/webhooks/getting-started#verification-requests>
fn meta(inbound: &Inbound, source: &Source, now: Timestamp) -> Option<HandshakeReply> {
    let query = inbound
        .query
        .as_deref()
        .filter(|_| inbound.method == http::Method::GET)?;
    if query_field(query, "hub.mode")? != "subscribe" {
        return None;
    }
    let token = Sha256::digest(query_field(query, "hub.verify_token")?);
    let is_it = |secret: &SharedSecret| token.ct_eq(&Sha256::digest(secret.expose())).into();
    let is_known = match &source.settings.verify_token {
        Some(secret) => is_it(secret),
        None => source.secrets.live(now).any(is_it),
    };
    let challenge = query_field(query, "hub.challenge").filter(|_| is_known)?;
    let fits =
        challenge.len() <= MAX_ECHO_BYTES && challenge.bytes().all(|byte| byte.is_ascii_graphic());
    fits.then(|| HandshakeReply::text(challenge))
}

/// For interactions, a PING has type 1 and is answered with `{"type":1}`. For webhook events, a PING has type 0 and is
/// answered with 204; type 1 is an event.
/// <https://docs.discord.com/developers/events/webhook-events#preparing-for-events>
fn discord(inbound: &Inbound, source: &Source, now: Timestamp) -> Option<HandshakeReply> {
    let is_event = word_at(inbound, "/event/type").is_some();
    let reply = match text_at(inbound, "/type")?.as_str() {
        "1" if !is_event => HandshakeReply::json(&json!({ "type": 1 })),
        "0" if !is_event => HandshakeReply {
            status: 204,
            content_type: "application/json",
            body: String::new(),
        },
        _ => return None,
    };
    signer(inbound, source, now)?;
    Some(reply)
}
