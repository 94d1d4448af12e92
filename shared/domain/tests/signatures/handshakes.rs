//! Handshakes of senders before they send events.

use super::{NOW, keys, named, secret, source, unsigned};
use http::Method;
use postrider_domain::handshake::{HandshakeReply, handshake};
use postrider_domain::inbound::{Inbound, verify};
use postrider_domain::scheme::Scheme;
use postrider_domain::time::Millis;
use postrider_samples::{self as sample, SampleEvent, SampleKeys};
use serde_json::json;

/// Longer challenges are not sent back.
const LIMIT: usize = 256;

fn asked(scheme: &Scheme, keys: &SampleKeys, body: &'static str) -> Inbound {
    let event = SampleEvent {
        name: "unknown",
        headers: &[],
        content_type: "application/json",
        body,
    };
    sample::sign(scheme, keys, unsigned(&event, "id"), NOW).unwrap()
}

/// The reply to a signed handshake; a sender that cannot sign, or signs too late, gets none.
fn answer(name: &str, body: &'static str) -> Option<HandshakeReply> {
    let scheme = named(name);
    let way = &scheme.ways[0];
    let (right, wrong) = (keys(way, 1), keys(way, 2));
    let source = source(&scheme, right.secret.clone());
    let inbound = asked(&scheme, &right, body);
    let late = NOW.plus(Millis::from_seconds(301));
    assert_eq!(handshake(&inbound, &source, late), None);
    let forged = asked(&scheme, &wrong, body);
    assert_eq!(handshake(&forged, &source, NOW), None);
    assert!(verify(forged, Some(&source), NOW).is_err());
    handshake(&inbound, &source, NOW)
}

#[test]
fn slack_gets_its_challenge() {
    let body = r#"{"token":"x","challenge":"3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P","type":"url_verification"}"#;
    let reply = answer("slack", body).unwrap();
    assert_eq!(
        reply.body,
        "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P"
    );
    assert_eq!(
        (reply.status, reply.content_type),
        (200, "text/plain; charset=utf-8")
    );
    assert_eq!(
        answer("slack", r#"{"type":"event_callback","challenge":"x"}"#),
        None
    );
}

#[test]
fn zoom_gets_its_token_signed() {
    let reply = answer(
        "zoom",
        r#"{"event":"endpoint.url_validation","payload":{"plainToken":"qgg8vlvZRS6UYooatFL8Aw"}}"#,
    );
    let reply: serde_json::Value = serde_json::from_str(&reply.unwrap().body).unwrap();
    assert_eq!(reply["plainToken"], "qgg8vlvZRS6UYooatFL8Aw");
    assert_eq!(reply["encryptedToken"].as_str().unwrap().len(), 64);
}

#[test]
fn a_zoom_handshake_cannot_be_used_to_sign_a_message() {
    let body = r#"{"event":"endpoint.url_validation","payload":{"plainToken":"v0:1771668000:{}"}}"#;
    assert_eq!(answer("zoom", body), None);
}

#[test]
fn a_zoom_token_has_a_limit() {
    let of = |bytes: usize| {
        let body = json!({"event": "endpoint.url_validation", "payload": {"plainToken": "a".repeat(bytes)}});
        answer("zoom", body.to_string().leak())
    };
    assert!(of(LIMIT).is_some());
    assert_eq!(of(LIMIT + 1), None);
}

#[test]
fn discord_gets_its_pings_answered() {
    let interaction = answer("discord", r#"{"type":1,"id":"1"}"#).unwrap();
    assert_eq!(
        (interaction.status, interaction.body.as_str()),
        (200, r#"{"type":1}"#)
    );
    let event = answer("discord", r#"{"version":1,"type":0}"#).unwrap();
    assert_eq!((event.status, event.body.as_str()), (204, ""));
    assert_eq!(
        answer(
            "discord",
            r#"{"type":1,"event":{"type":"ENTITLEMENT_CREATE"}}"#
        ),
        None
    );
    assert_eq!(
        answer("discord", r#"{"type":0,"event":{"type":"READY"}}"#),
        None
    );
    assert_eq!(answer("discord", r#"{"type":2}"#), None);
}

#[test]
fn meta_gets_its_challenge_for_the_token() {
    let mut source = source(&named("meta"), secret("app secret"));
    let ask = |source: &_, method: Method, query: &str| {
        let inbound = Inbound {
            method,
            query: Some(query.to_owned()),
            ..Inbound::default()
        };
        handshake(&inbound, source, NOW).map(|reply| reply.body)
    };
    let query = |token: &str| {
        format!("hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token={token}")
    };
    assert_eq!(
        ask(&source, Method::GET, &query("app+secret")).as_deref(),
        Some("1158201444")
    );
    source.settings.verify_token = Some(secret("meatyhamhock"));
    assert_eq!(
        ask(&source, Method::GET, &query("meatyhamhock")).as_deref(),
        Some("1158201444")
    );
    assert_eq!(ask(&source, Method::GET, &query("app+secret")), None);
    assert_eq!(ask(&source, Method::POST, &query("meatyhamhock")), None);
    let markup = "hub.mode=subscribe&hub.challenge=%0Ax&hub.verify_token=meatyhamhock";
    assert_eq!(ask(&source, Method::GET, markup), None);
    let long = |bytes: usize| {
        let challenge = "1".repeat(bytes);
        format!("hub.mode=subscribe&hub.challenge={challenge}&hub.verify_token=meatyhamhock")
    };
    assert!(ask(&source, Method::GET, &long(LIMIT)).is_some());
    assert_eq!(ask(&source, Method::GET, &long(LIMIT + 1)), None);
}

#[test]
fn other_schemes_have_no_handshake() {
    let source = source(&named("github"), secret("x"));
    let inbound = super::post(&[], br#"{"type":"url_verification","challenge":"x"}"#);
    assert_eq!(handshake(&inbound, &source, NOW), None);
}
