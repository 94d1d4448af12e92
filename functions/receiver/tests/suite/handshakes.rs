//! Senders that ask before they send.

use axum::body::Body;
use http::{Method, Request};
use postrider_domain::ids::TenantId;
use postrider_domain::inbound::Inbound;
use postrider_domain::scheme::Scheme;
use postrider_domain::source::{Source, SourceDraft};
use postrider_samples::{self as sample, SampleKeys, Unsigned};
use serde_json::{Value, json};

use crate::stage::{Answer, Stage, URL};

/// A question in the scheme of its sender, signed with these keys.
fn asked(stage: &Stage, scheme: &Scheme, keys: &SampleKeys, body: &str) -> Inbound {
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

/// The answer to a question; one that somebody else signed is refused, as any other forged request.
async fn answer(name: &str, body: &str) -> Answer {
    let stage = Stage::new();
    let scheme = Scheme::named(name).unwrap();
    let keys = |seed| sample::keys(&scheme, &[seed; 32]).unwrap();
    let source = stage.source_of(name, keys(1).secret.expose()).await;
    let forged = asked(&stage, &scheme, &keys(2), body);
    let refused = stage.relay(&source, &forged).await;
    refused.problem(401, "invalid_signature");
    let unsigned = Inbound::post(http::HeaderMap::new(), body.to_owned().into());
    let refused = stage.relay(&source, &unsigned).await;
    refused.problem(401, "invalid_signature");
    let genuine = asked(&stage, &scheme, &keys(1), body);
    let answer = stage.relay(&source, &genuine).await;
    let kinds: Vec<_> = stage
        .announced()
        .await
        .into_iter()
        .map(|(kind, _)| kind)
        .collect();
    assert_eq!(
        kinds, ["inbound.signature_failed"; 2],
        "a question is no event"
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
    let made = sources.create(&tenant, draft, "app secret").await;
    made.unwrap()
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
    assert_eq!(
        answer.text, "1158201444",
        "the secret stands in for the token"
    );
    for (id, token) in [(&id, "app+secret"), (&id, ""), (&without, "meatyhamhock")] {
        let forged = get(&stage, id, &format!("{query}{token}")).await;
        forged.problem(401, "invalid_signature");
    }
}

#[tokio::test]
async fn a_get_that_asks_nothing_is_refused_as_any_other_request() {
    let stage = Stage::new();
    let id = meta(&stage, None).await.id.to_string();
    let gitlab = stage.source_of("gitlab", "the token").await.id.to_string();
    let mut answers: Vec<(http::HeaderMap, Value)> = Vec::new();
    for (id, query) in [(&*id, ""), (&*id, "hub.mode=subscribe"), ("nonsense", "")] {
        let refused = get(&stage, id, query).await;
        answers.push((refused.headers.clone(), refused.expect(401)));
    }
    // Right in every way, but no event comes by GET.
    for method in [Method::GET, Method::HEAD] {
        let request = Request::builder()
            .method(method)
            .uri(format!("/gateway/webhooks/{gitlab}"));
        let request = request.header("x-gitlab-token", "the token");
        let refused = stage.send(request.body(Body::empty()).unwrap()).await;
        assert_eq!(refused.status.as_u16(), 401);
    }
    assert!(
        answers.iter().all(|answer| *answer == answers[0]),
        "{answers:?}"
    );
    let forged = stage.post(&id, &[], b"{}").await;
    assert_eq!(forged.expect(401), answers[0].1);
}
