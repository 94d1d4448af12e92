//! Rejected requests are stored for the owner of the source, within limits.

use axum::body::Body;
use http::Request;
use postrider_domain::diagnosis::Finding;
use postrider_domain::ids::SourceId;
use postrider_domain::source::Source;
use postrider_domain::time::Millis;
use postrider_gateway::rejected::{Diagnosed, Listed};

use crate::stage::{MAX_BODY, Stage, sign};

async fn listed(stage: &Stage, source: &Source) -> Listed {
    let rejected = &stage.gateway.rejected;
    let listed = rejected.list(&source.tenant, source.id, 100).await;
    listed.unwrap()
}

async fn newest(stage: &Stage, source: &Source) -> Diagnosed {
    let id = listed(stage, source).await.requests[0].id;
    let rejected = &stage.gateway.rejected;
    let diagnosed = rejected.diagnose(&source.tenant, source.id, id).await;
    diagnosed.unwrap()
}

#[tokio::test]
async fn a_forged_request_is_stored_and_reported_with_its_reason() {
    let stage = Stage::new();
    let source = stage.source(&[]).await;
    let forged = sign("canary", b"{}");
    let headers = [
        ("x-webhook-signature", forged.as_str()),
        ("x-canary", "canary"),
    ];
    let id = source.id.to_string();
    let rejected = stage.post(&id, &headers, b"{ \"canary\": 1 }").await;
    rejected.problem(401, "invalid_signature");
    let listed = listed(&stage, &source).await;
    let request = &listed.requests[0].rejected.request;
    assert_eq!(&request.body[..], b"{ \"canary\": 1 }");
    assert_eq!(request.path, format!("/gateway/webhooks/{id}"));
    assert_eq!(request.headers["x-canary"], "canary");
    let notifications = stage.notifications().await;
    let [(kind, data)] = notifications.as_slice() else {
        panic!("{notifications:?}");
    };
    assert_eq!(kind, "inbound.signature_failed");
    assert_eq!(data["refused_id"], listed.requests[0].id.to_string());
    assert_eq!(data["reason"], "no_match");
    assert!(!format!("{notifications:?}").contains("canary"));
}

#[tokio::test]
async fn the_diagnosis_finds_a_retired_secret_that_would_have_matched() {
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
    let rejected = stage.deliver(&source, "1", "a", "{}").await;
    rejected.problem(401, "invalid_signature");
    assert_eq!(newest(&stage, &source).await.findings, [Finding::OldSecret]);
    let signature = sign("secret 2", b"{}");
    let headers = [("x-webhook-signature", signature.as_str())];
    let rejected = stage.post(&id, &headers, b"{}\n").await;
    rejected.problem(401, "invalid_signature");
    let findings = newest(&stage, &source).await.findings;
    assert!(
        matches!(findings[..], [Finding::ChangedBody { .. }]),
        "{findings:?}"
    );
    let listed = listed(&stage, &source).await;
    assert_eq!(listed.tally.stored, 2);
}

#[tokio::test]
async fn a_flood_is_counted_and_takes_no_more_space() {
    let stage = Stage::new();
    let source = stage.source(&[]).await;
    for _ in 0..50 {
        stage.post(&source.id.to_string(), &[], b"{}").await;
        stage
            .post("src_aaaaaaaaaaaaaaaaaaaaaaaaae", &[], b"{}")
            .await;
        stage.post("nonsense", &[], b"{}").await;
    }
    let listed = listed(&stage, &source).await;
    assert_eq!((listed.tally.stored, listed.tally.counted), (10, 40));
    assert_eq!(listed.requests.len(), 10);
    assert_eq!(stage.notifications().await.len(), 10);
    let store = &stage.gateway.ports.store;
    let unknown_source = store
        .rejection_counts(&source.tenant, SourceId::UNKNOWN)
        .await;
    let unknown_source = unknown_source.unwrap();
    assert_eq!((unknown_source.stored, unknown_source.counted), (10, 90));
}

#[tokio::test]
async fn a_body_over_the_limit_is_reported_as_too_large() {
    let stage = Stage::new();
    let source = stage.source(&[]).await;
    let large = "x".repeat(MAX_BODY + 1);
    for to in [source.id.to_string(), "nonsense".to_owned()] {
        let request = Request::post(format!("/gateway/webhooks/{to}"));
        let request = request.header("content-length", large.len());
        let request = request.body(Body::from(large.clone())).unwrap();
        stage.send(request).await.problem(413, "payload_too_large");
    }
    let notifications = stage.notifications().await;
    assert_eq!(notifications.len(), 1);
    assert_eq!(notifications[0].0, "inbound.too_large");
    let diagnosed = newest(&stage, &source).await;
    let rejected = &diagnosed.kept.rejected;
    assert_eq!(
        (rejected.body_bytes, rejected.is_cut),
        (large.len() as u64, true)
    );
    assert!(rejected.request.body.is_empty());
}

#[tokio::test]
async fn a_request_that_cannot_be_stored_is_rejected_like_any_other() {
    let stage = Stage::new();
    let source = stage.source(&[]).await;
    stage.fill_the_disk().await;
    // The first ones may fit into pages that a migration freed.
    for _ in 0..5 {
        let rejected = stage
            .post(&source.id.to_string(), &[], &[b'x'; 9_000])
            .await;
        rejected.problem(401, "invalid_signature");
    }
    assert!(listed(&stage, &source).await.tally.stored < 5);
}
