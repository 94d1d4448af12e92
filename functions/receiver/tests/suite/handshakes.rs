//! Senders that send a handshake first.

use axum::body::Body;
use http::{Method, Request};
use postrider_domain::ids::TenantId;
use postrider_domain::inbound::Inbound;
use postrider_domain::scheme::Scheme;
use postrider_domain::source::{Source, SourceDraft};
use postrider_samples::{self as sample, SampleKeys, Unsigned};
use serde_json::{Value, json};

use crate::stage::{Answer, Stage, URL};

/// A handshake in the scheme of its sender, signed with these keys.
fn handshake(stage: &Stage, scheme: &Scheme, keys: &SampleKeys, body: &str) -> Inbound {
    let unsigned = Unsigned {
        url: URL,
        query: None,
        id: "1",
        headers: &[],
        content_type: "application/json",
        body: body.as_bytes(),
    };
    sample::sign(scheme, keys, unsigned, stage.now()).unwrap()
}

/// The answer to a handshake; one with a wrong signature is rejected like any other forged request.
async fn answer(name: &str, body: &str) -> Answer {
    let stage = Stage::new();
    let scheme = Scheme::named(name).unwrap();
    let keys = |seed| sample::keys(&scheme, &[seed; 32]).unwrap();
    let source = stage.source_of(name, keys(1).secret.expose()).await;
    let forged = handshake(&stage, &scheme, &keys(2), body);
    let rejected = stage.relay(&source, &forged).await;
    rejected.problem(401, "invalid_signature");
    let unsigned = Inbound::post(http::HeaderMap::new(), body.to_owned().into());
    let rejected = stage.relay(&source, &unsigned).await;
    rejected.problem(401, "invalid_signature");
    let genuine = handshake(&stage, &scheme, &keys(1), body);
    let answer = stage.relay(&source, &genuine).await;
    let kinds: Vec<_> = stage
        .notifications()
        .await
        .into_iter()
        .map(|(kind, _)| kind)
        .collect();
    assert_eq!(
        kinds, ["inbound.signature_failed"; 2],
        "a handshake is not an event"
    );
    answer
}

fn header<'a>(answer: &'a Answer, name: &str) -> &'a str {
    answer.headers[name].to_str().unwrap()
}

#[tokio::test]
async fn slack_gets_its_challenge_back() {
    let body = json!({"type": "url_verification", "challenge": "3eZbrw1a", "token": "x"});
    let answer = answer("slack", &body.to_string()).await;
    assert_eq!(
        (answer.status.as_u16(), answer.text.as_str()),
        (200, "3eZbrw1a")
    );
    assert_eq!(header(&answer, "content-type"), "text/plain; charset=utf-8");
    assert_eq!(header(&answer, "x-content-type-options"), "nosniff");
}

#[tokio::test]
async fn zoom_gets_its_token_signed() {
    let body = json!({"event": "endpoint.url_validation", "payload": {"plainToken": "qgg8vlvZ"}});
    let answer = answer("zoom", &body.to_string()).await.expect(200);
    assert_eq!(answer["plainToken"], "qgg8vlvZ");
    assert_eq!(answer["encryptedToken"].as_str().unwrap().len(), 64);
}

#[tokio::test]
async fn discord_gets_its_pings_answered() {
    let interaction = answer("discord", r#"{"type":1,"id":"1"}"#).await;
    assert_eq!(interaction.expect(200), json!({"type": 1}));
    let event = answer("discord", r#"{"version":1,"type":0}"#).await;
    assert_eq!((event.status.as_u16(), event.text.as_str()), (204, ""));
}

async fn meta(stage: &Stage, token: Option<&str>) -> Source {
    let draft = SourceDraft {
        name: "WhatsApp".to_owned(),
        scheme: "meta".to_owned(),
        verify_token: token.map(|token| token.to_owned().into()),
        ..SourceDraft::default()
    };
    let sources = &stage.gateway.sources;
    let tenant = TenantId::default();
    let created = sources.create(&tenant, draft, "app secret").await;
    created.unwrap()
}

async fn get(stage: &Stage, source: &str, query: &str) -> Answer {
    let request = Request::get(format!("/gateway/webhooks/{source}?{query}"));
    stage.send(request.body(Body::empty()).unwrap()).await
}

#[tokio::test]
async fn meta_gets_its_challenge_back_for_its_token() {
    let stage = Stage::new();
    let id = meta(&stage, Some("meatyhamhock")).await.id.to_string();
    let query = "hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=";
    let answer = get(&stage, &id, &format!("{query}meatyhamhock")).await;
    assert_eq!(
        (answer.status.as_u16(), answer.text.as_str()),
        (200, "1158201444")
    );
    let without = meta(&stage, None).await.id.to_string();
    let answer = get(&stage, &without, &format!("{query}app+secret")).await;
    assert_eq!(answer.text, "1158201444", "the secret serves as the token");
    for (id, token) in [(&id, "app+secret"), (&id, ""), (&without, "meatyhamhock")] {
        let forged = get(&stage, id, &format!("{query}{token}")).await;
        forged.problem(401, "invalid_signature");
    }
}

#[tokio::test]
async fn a_get_without_a_handshake_is_rejected_like_any_other_request() {
    let stage = Stage::new();
    let id = meta(&stage, None).await.id.to_string();
    let gitlab = stage.source_of("gitlab", "the token").await.id.to_string();
    let mut answers: Vec<(http::HeaderMap, Value)> = Vec::new();
    for (id, query) in [(&*id, ""), (&*id, "hub.mode=subscribe"), ("nonsense", "")] {
        let rejected = get(&stage, id, query).await;
        answers.push((rejected.headers.clone(), rejected.expect(401)));
    }
    // Correct in every way, but events are not sent by GET.
    for method in [Method::GET, Method::HEAD] {
        let request = Request::builder()
            .method(method)
            .uri(format!("/gateway/webhooks/{gitlab}"));
        let request = request.header("x-gitlab-token", "the token");
        let rejected = stage.send(request.body(Body::empty()).unwrap()).await;
        assert_eq!(rejected.status.as_u16(), 401);
    }
    assert!(
        answers.iter().all(|answer| *answer == answers[0]),
        "{answers:?}"
    );
    let forged = stage.post(&id, &[], b"{}").await;
    assert_eq!(forged.expect(401), answers[0].1);
}
