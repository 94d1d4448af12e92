//! No forged request gets in, and its sender does not learn why.

use axum::body::Body;
use http::{Method, Request};
use postrider_domain::ids::TenantId;
use postrider_ports::history::Filter;

use crate::stage::{MAX_BODY, SECRET, Stage, sign};

const BODY: &[u8] = br#"{"type":"task.done"}"#;

#[tokio::test]
async fn every_reason_gets_the_same_answer() {
    let stage = Stage::new();
    let webhook = stage.webhook(1).await;
    let source = stage.source(&[("*", "do", None, webhook)]).await;
    let id = source.id.to_string();
    let good = sign(SECRET, BODY);
    let unknown = "src_aaaaaaaaaaaaaaaaaaaaaaaaaa";
    let header = "x-webhook-signature";
    let cases: &[(&str, Option<(&str, &str)>)] = &[
        (&id, None),
        (&id, Some((header, ""))),
        (&id, Some((header, "sha256="))),
        (&id, Some((header, &sign(SECRET, b"other")))),
        (&id, Some((header, &sign("other", BODY)))),
        (&id, Some((header, &good.to_uppercase()))),
        (&id, Some((header, good.trim_start_matches("sha256=")))),
        (&id, Some(("x-hub-signature-256", &good))),
        (unknown, Some((header, &good))),
        (unknown, None),
        ("nonsense", Some((header, &good))),
        ("%FF", Some((header, &good))),
        (&id.to_uppercase(), Some((header, &good))),
    ];
    let mut answers = Vec::new();
    for (source, signature) in cases {
        let answer = stage.post(source, signature.as_slice(), BODY).await;
        answer.problem(401, "invalid_signature");
        let mut headers = answer.headers;
        headers.remove("date");
        answers.push((headers, answer.text));
    }
    assert!(
        answers.iter().all(|answer| *answer == answers[0]),
        "{answers:?}"
    );
    let tenant = TenantId::default();
    let rows = stage
        .gateway
        .ports
        .store
        .list(&tenant, &Filter::default(), 10, None)
        .await;
    assert_eq!(rows.unwrap().items, [], "nothing was stored");
    assert_eq!(stage.take_messages(), []);
    stage.post(&id, &[(header, &good)], BODY).await.expect(202);
}

#[tokio::test]
async fn one_flipped_bit_of_body_or_signature_is_rejected() {
    let stage = Stage::new();
    let id = stage.source(&[]).await.id.to_string();
    let good = sign(SECRET, BODY);
    for bit in 0..BODY.len() * 8 {
        let mut body = BODY.to_vec();
        body[bit / 8] ^= 1 << (bit % 8);
        let answer = stage
            .post(&id, &[("x-webhook-signature", &good)], &body)
            .await;
        answer.problem(401, "invalid_signature");
    }
    for bit in 0..good.len() * 8 {
        let mut header = good.clone().into_bytes();
        header[bit / 8] ^= 1 << (bit % 8);
        let Ok(request) = Request::post(format!("/gateway/webhooks/{id}"))
            .header("x-webhook-signature", header)
            .body(Body::from(BODY))
        else {
            continue;
        };
        stage.send(request).await.problem(401, "invalid_signature");
    }
}

#[tokio::test]
async fn a_body_over_the_limit_is_rejected_before_it_is_verified() {
    let stage = Stage::new();
    let source = stage.source(&[]).await;
    let fits = "x".repeat(MAX_BODY);
    stage.deliver(&source, "1", "a", &fits).await.expect(202);
    let detail = stage
        .deliver(&source, "2", "a", &format!("{fits}x"))
        .await
        .problem(413, "payload_too_large");
    assert!(detail.contains(&MAX_BODY.to_string()), "{detail}");
    let unsigned = stage
        .post("nonsense", &[], format!("{fits}x").as_bytes())
        .await;
    unsigned.problem(413, "payload_too_large");
}

#[tokio::test]
async fn a_deleted_source_is_unknown() {
    let stage = Stage::new();
    let source = stage.source(&[]).await;
    stage.deliver(&source, "1", "a", "{}").await.expect(202);
    stage
        .gateway
        .sources
        .delete(&source.tenant, source.id)
        .await
        .unwrap();
    stage
        .deliver(&source, "1", "a", "{}")
        .await
        .problem(401, "invalid_signature");
}

#[tokio::test]
async fn other_methods_and_paths_are_problems() {
    let stage = Stage::new();
    let call = async |method: Method, path: &str| {
        let request = Request::builder().method(method).uri(path);
        stage.send(request.body(Body::empty()).unwrap()).await
    };
    let put = call(Method::PUT, "/gateway/webhooks/src_x").await;
    put.problem(405, "method_not_allowed");
    assert!(put.headers["allow"].to_str().unwrap().contains("POST"));
    for path in [
        "/",
        "/gateway/webhooks",
        "/gateway/webhooks/",
        "/gateway/webhooks/a/b",
    ] {
        call(Method::POST, path).await.problem(404, "unknown_route");
    }
}
