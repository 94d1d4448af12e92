//! What is refused is kept for its owner, within bounds.

use axum::body::Body;
use http::Request;
use postrider_domain::diagnosis::Finding;
use postrider_domain::ids::SourceId;
use postrider_domain::source::Source;
use postrider_domain::time::Millis;
use postrider_gateway::rejected::{Diagnosed, Listed};

use crate::stage::{MAX_BODY, Stage, sign};

async fn kept(stage: &Stage, source: &Source) -> Listed {
    let refusals = &stage.gateway.refusals;
    let listed = refusals.list(&source.tenant, source.id, 100).await;
    listed.unwrap()
}

async fn newest(stage: &Stage, source: &Source) -> Diagnosed {
    let id = kept(stage, source).await.requests[0].id;
    let refusals = &stage.gateway.refusals;
    let diagnosed = refusals.diagnose(&source.tenant, source.id, id).await;
    diagnosed.unwrap()
}

#[tokio::test]
async fn a_forged_request_is_kept_and_announced_with_its_reason() {
    let stage = Stage::new();
    let source = stage.source(&[]).await;
    let forged = sign("canary", b"{}");
    let headers = [
        ("x-webhook-signature", forged.as_str()),
        ("x-canary", "canary"),
    ];
    let id = source.id.to_string();
    let refused = stage.post(&id, &headers, b"{ \"canary\": 1 }").await;
    refused.problem(401, "invalid_signature");
    let listed = kept(&stage, &source).await;
    let request = &listed.requests[0].refused.request;
    assert_eq!(&request.body[..], b"{ \"canary\": 1 }");
    assert_eq!(request.path, format!("/gateway/webhooks/{id}"));
    assert_eq!(request.headers["x-canary"], "canary");
    let announced = stage.announced().await;
    let [(kind, data)] = announced.as_slice() else {
        panic!("{announced:?}");
    };
    assert_eq!(kind, "inbound.signature_failed");
    assert_eq!(data["refused_id"], listed.requests[0].id.to_string());
    assert_eq!(data["reason"], "no_match");
    assert!(!format!("{announced:?}").contains("canary"));
}

#[tokio::test]
async fn what_would_have_matched_is_said_though_the_secret_is_long_gone() {
    let stage = Stage::new();
    let source = stage.source(&[]).await;
    let id = source.id.to_string();
    for n in 0..3 {
        let next = format!("secret {n}");
        let rotated = stage
            .gateway
            .sources
            .rotate_secret(&source.tenant, source.id, &next);
        rotated.await.unwrap();
        stage.clock.advance(Millis::from_seconds(86_401));
    }
    let refused = stage.deliver(&source, "1", "a", "{}").await;
    refused.problem(401, "invalid_signature");
    assert_eq!(newest(&stage, &source).await.findings, [Finding::OldSecret]);
    let signature = sign("secret 2", b"{}");
    let headers = [("x-webhook-signature", signature.as_str())];
    let refused = stage.post(&id, &headers, b"{}\n").await;
    refused.problem(401, "invalid_signature");
    let findings = newest(&stage, &source).await.findings;
    assert!(
        matches!(findings[..], [Finding::ChangedBody { .. }]),
        "{findings:?}"
    );
    let listed = kept(&stage, &source).await;
    assert_eq!(listed.tally.kept, 2);
}

#[tokio::test]
async fn a_flood_is_counted_and_costs_no_more_room() {
    let stage = Stage::new();
    let source = stage.source(&[]).await;
    for _ in 0..50 {
        stage.post(&source.id.to_string(), &[], b"{}").await;
        stage
            .post("src_aaaaaaaaaaaaaaaaaaaaaaaaae", &[], b"{}")
            .await;
        stage.post("nonsense", &[], b"{}").await;
    }
    let listed = kept(&stage, &source).await;
    assert_eq!((listed.tally.kept, listed.tally.counted), (10, 40));
    assert_eq!(listed.requests.len(), 10);
    assert_eq!(stage.announced().await.len(), 10);
    let store = &stage.gateway.ports.store;
    let nobodys = store
        .rejection_counts(&source.tenant, SourceId::UNKNOWN)
        .await;
    let nobodys = nobodys.unwrap();
    assert_eq!((nobodys.kept, nobodys.counted), (10, 90));
}

#[tokio::test]
async fn a_body_over_the_limit_is_announced_as_that() {
    let stage = Stage::new();
    let source = stage.source(&[]).await;
    let large = "x".repeat(MAX_BODY + 1);
    for to in [source.id.to_string(), "nonsense".to_owned()] {
        let request = Request::post(format!("/gateway/webhooks/{to}"));
        let request = request.header("content-length", large.len());
        let request = request.body(Body::from(large.clone())).unwrap();
        stage.send(request).await.problem(413, "payload_too_large");
    }
    let announced = stage.announced().await;
    assert_eq!(announced.len(), 1);
    assert_eq!(announced[0].0, "inbound.too_large");
    let diagnosed = newest(&stage, &source).await;
    let refused = &diagnosed.kept.refused;
    assert_eq!(
        (refused.body_bytes, refused.is_cut),
        (large.len() as u64, true)
    );
    assert!(refused.request.body.is_empty());
}

#[tokio::test]
async fn a_request_that_cannot_be_kept_is_refused_as_any_other() {
    let stage = Stage::new();
    let source = stage.source(&[]).await;
    stage.fill_the_disk().await;
    let refused = stage
        .post(&source.id.to_string(), &[], &[b'x'; 9_000])
        .await;
    refused.problem(401, "invalid_signature");
    assert_eq!(kept(&stage, &source).await.tally.kept, 0);
}
