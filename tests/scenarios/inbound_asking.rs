//! `features/inbound.feature`: senders that ask before they send.

use http::{HeaderMap, Method};
use postrider_domain::handshake::HandshakeReply;
use postrider_domain::ids::TenantId;
use postrider_domain::inbound::Inbound;
use postrider_domain::scheme::Scheme;
use postrider_domain::source::{Source, SourceDraft};
use postrider_gateway::GatewayError;
use postrider_gateway::receive::Received;
use postrider_samples::{self as sample, SampleKeys, Unsigned};

use super::world::{START, World};

const SLACK: &str = r#"{"type":"url_verification","challenge":"3eZbrw1a"}"#;
const ZOOM: &str = r#"{"event":"endpoint.url_validation","payload":{"plainToken":"qgg8vlvZ"}}"#;
const DISCORD: &str = r#"{"type":1,"id":"1"}"#;

fn keys(scheme: &str, seed: u8) -> SampleKeys {
    sample::keys(&Scheme::named(scheme).unwrap(), &[seed; 32]).unwrap()
}

async fn source(world: &World, scheme: &str) -> Source {
    let draft = SourceDraft {
        name: scheme.to_owned(),
        scheme: scheme.to_owned(),
        ..SourceDraft::default()
    };
    let (tenant, secret) = (TenantId::default(), keys(scheme, 1).secret);
    let sources = &world.gateway().sources;
    let made = sources.create(&tenant, draft, secret.expose()).await;
    made.unwrap()
}

fn signed(scheme: &str, body: &str, keys: &SampleKeys) -> Inbound {
    let unsigned = Unsigned {
        url: "https://hooks.example/in",
        query: None,
        id: "1",
        headers: &[],
        content_type: "application/json",
        body: body.as_bytes(),
    };
    sample::sign(&Scheme::named(scheme).unwrap(), keys, unsigned, START).unwrap()
}

fn meta(token: &str) -> Inbound {
    let query = format!("hub.mode=subscribe&hub.challenge=11582&hub.verify_token={token}");
    Inbound {
        method: Method::GET,
        query: Some(query),
        ..Inbound::post(HeaderMap::new(), bytes::Bytes::new())
    }
}

/// Each sender's handshake, signed with the keys of this seed.
fn questions(seed: u8) -> Vec<(&'static str, Inbound)> {
    let asked = [("slack", SLACK), ("zoom", ZOOM), ("discord", DISCORD)];
    let asked = asked.map(|(scheme, body)| (scheme, signed(scheme, body, &keys(scheme, seed))));
    let token = keys("meta", seed).secret;
    asked
        .into_iter()
        .chain([("meta", meta(token.expose()))])
        .collect()
}

async fn ask(
    world: &World,
    source: &Source,
    asked: Inbound,
) -> Result<HandshakeReply, GatewayError> {
    let to = source.id.to_string();
    match world.gateway().receive.receive(&to, asked, || ()).await? {
        Received::Answered(reply) => Ok(reply),
        Received::Stored(published) => panic!("a question was stored: {published:?}"),
    }
}

#[tokio::test]
async fn verification_handshakes_are_answered() {
    let world = World::new().await;
    let mut answers = Vec::new();
    for (scheme, question) in questions(1) {
        let source = source(&world, scheme).await;
        answers.push(ask(&world, &source, question).await.unwrap());
    }
    let [slack, zoom, discord, meta] = answers.as_slice() else {
        panic!("{answers:?}");
    };
    assert_eq!((slack.status, slack.body.as_str()), (200, "3eZbrw1a"));
    assert!(zoom.body.contains(r#""plainToken":"qgg8vlvZ""#), "{zoom:?}");
    assert!(zoom.body.contains("encryptedToken"), "{zoom:?}");
    assert_eq!(discord.body, r#"{"type":1}"#);
    assert_eq!((meta.status, meta.body.as_str()), (200, "11582"));
    assert_eq!(world.notifications().await, []);
}

#[tokio::test]
async fn a_forged_handshake_is_rejected() {
    let world = World::new().await;
    for (scheme, question) in questions(2) {
        let source = source(&world, scheme).await;
        let refused = ask(&world, &source, question).await;
        assert!(matches!(refused, Err(GatewayError::Unverified)), "{scheme}");
        let kept = world.gateway().rejected.list(&source.tenant, source.id, 10);
        assert_eq!(kept.await.unwrap().requests.len(), 1, "{scheme}");
    }
}
