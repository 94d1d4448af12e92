//! Problems and headers that all paths have in common.

use axum::body::Body;
use http::{Method, Request, header};
use postrider_adapter_local::SqliteOptions;
use serde_json::json;

use crate::stage::Stage;

#[tokio::test]
async fn unknown_paths_and_methods_are_problems() {
    let stage = Stage::new().await;
    for path in [
        "/nothing",
        "/v1",
        "/v1/",
        "/v1/webhooks/",
        "/v1/webhooks/wh_x/fly",
        "/v1/EVENTS",
        "//",
    ] {
        stage.get(path).await.problem(404, "unknown_route");
    }
    for (method, path, allowed) in [
        (Method::DELETE, "/v1/events", "POST"),
        (Method::PUT, "/v1/webhooks", "GET,HEAD,POST"),
        (
            Method::OPTIONS,
            "/v1/webhooks/wh_x",
            "DELETE,GET,HEAD,PATCH",
        ),
        (Method::POST, "/healthz", "GET,HEAD"),
        (
            Method::from_bytes(b"BREW").unwrap(),
            "/v1/keys",
            "GET,HEAD,POST",
        ),
    ] {
        let answer = stage.call(&stage.admin, method, path, "").await;
        answer.problem(405, "method_not_allowed");
        let mut methods: Vec<_> = answer.headers[header::ALLOW]
            .to_str()
            .unwrap()
            .split(',')
            .collect();
        methods.sort_unstable();
        assert_eq!(methods.join(","), allowed);
    }
}

#[tokio::test]
async fn every_response_forbids_sniffing_and_caching() {
    let stage = Stage::new().await;
    for path in [
        "/",
        "/healthz",
        "/openapi.json",
        "/v1/webhooks",
        "/v1/deliveries?x=1",
        "/nothing",
    ] {
        let answer = stage.get(path).await;
        assert_eq!(
            answer.headers[header::X_CONTENT_TYPE_OPTIONS],
            "nosniff",
            "{path}"
        );
        assert_eq!(answer.headers[header::CACHE_CONTROL], "no-store", "{path}");
    }
}

#[tokio::test]
async fn head_is_get_without_a_body() {
    let stage = Stage::new().await;
    for path in ["/healthz", "/v1/webhooks", "/openapi.json"] {
        let answer = stage.call(&stage.admin, Method::HEAD, path, "").await;
        assert_eq!(
            (answer.status.as_u16(), answer.text.as_str()),
            (200, ""),
            "{path}"
        );
    }
}

#[tokio::test]
async fn the_health_check_responds() {
    let stage = Stage::new().await;
    for path in ["/healthz", "/", "/openapi.json"] {
        let request = Request::get(path).body(Body::empty()).unwrap();
        stage.send(request).await.expect(200);
    }
    let health = stage.get("/healthz").await.expect(200);
    assert_eq!(
        health,
        json!({"status": "ok", "version": env!("CARGO_PKG_VERSION")})
    );
    assert_eq!(stage.get("/").await.expect(200)["openapi"], "/openapi.json");
}

#[tokio::test]
async fn a_document_over_the_limit_gets_the_limit() {
    let stage = Stage::new().await;
    let large = json!({"name": "x".repeat(70_000)}).to_string();
    for (method, path) in [
        (Method::POST, "/v1/webhooks"),
        (Method::POST, "/v1/keys"),
        (Method::POST, "/v1/retries"),
        (Method::PATCH, "/v1/webhooks/wh_aaaaaaaaaaaaaaaaaaaaaaaaaa"),
    ] {
        let answer = stage.call(&stage.admin, method, path, &large).await;
        answer.problem(413, "payload_too_large");
        assert!(answer.text.contains("65536"), "{}", answer.text);
    }
    let patient = Request::post("/v1/webhooks")
        .header("authorization", format!("Bearer {}", stage.admin))
        .header("expect", "100-continue")
        .header("content-length", "70000")
        .body(Body::from_stream(futures_util::stream::pending::<
            Result<bytes::Bytes, std::io::Error>,
        >()))
        .unwrap();
    stage.send(patient).await.problem(413, "payload_too_large");
}

#[tokio::test]
async fn an_incomplete_body_is_an_invalid_request() {
    let stage = Stage::new().await;
    let broken = futures_util::stream::iter([
        Ok(bytes::Bytes::from_static(b"{\"type\":")),
        Err(std::io::Error::other("gone")),
    ]);
    let request = Request::post("/v1/events")
        .header("authorization", format!("Bearer {}", stage.admin))
        .body(Body::from_stream(broken))
        .unwrap();
    stage.send(request).await.refuses("body", "read completely");
}

#[tokio::test]
async fn a_body_may_arrive_in_pieces() {
    let stage = Stage::new().await;
    let pieces = [&b"{\"type\":"[..], b"", b"\"a\",\"payl", b"oad\":1}"];
    let pieces = pieces.map(|piece| Ok::<_, std::io::Error>(bytes::Bytes::from_static(piece)));
    let request = Request::post("/v1/events")
        .header("authorization", format!("Bearer {}", stage.admin))
        .body(Body::from_stream(futures_util::stream::iter(pieces)))
        .unwrap();
    stage.send(request).await.expect(202);
}

#[tokio::test]
async fn a_full_disk_responds_503_with_retry_after() {
    let stage = Stage::with(SqliteOptions {
        max_pages: Some(90),
        ..SqliteOptions::default()
    })
    .await;
    let event = json!({"type": "a", "payload": "x".repeat(9000)});
    let mut refused = None;
    for _ in 0..200 {
        let answer = stage.post("/v1/events", &event).await;
        if answer.status.as_u16() != 202 {
            refused = Some(answer);
            break;
        }
    }
    let refused = refused.expect("the disk is full after a while");
    refused.problem(503, "unavailable");
    assert!(refused.headers.contains_key(header::RETRY_AFTER));
    stage.get("/v1/deliveries").await.expect(200);
    stage.get("/healthz").await.expect(200);
}
