//! Hostile input: never a 5xx, always a problem.

use axum::body::Body;
use http::{Method, Request};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::stage::Stage;

const FIELDS: &[&str] = &[
    "type",
    "payload",
    "payload_base64",
    "events",
    "content_type",
    "session_id",
    "webhook_id",
    "name",
    "target_url",
    "event_types",
    "owner_email",
    "headers",
    "secret",
    "timeout_seconds",
    "retry_rate",
    "max_rate",
    "max_in_flight",
    "auto_resume",
    "retry",
    "profile",
    "max_attempts",
    "jitter_bps",
    "delays_seconds",
    "scheme",
    "public_url",
    "routes",
    "event_type",
    "intent",
    "target_session",
    "filter",
    "$or",
    "anything-but",
    "numeric",
    "dry_run",
    "status",
    "from",
    "to",
    "scopes",
    "tenant",
    "force",
    "url",
    "include_headers",
    "\u{0}",
    "ä",
    "",
];
const WORDS: &[&str] = &[
    "task.done",
    "gateway",
    "custom",
    "https://receiver.example/",
    "read",
    "dead",
    "whsec_AA==",
    "postrider",
    "AA==",
    "2026-02-21T10:00:00Z",
    "-009999-01-01T00:00:00Z",
    "9999-12-31T23:59:59Z",
    "default",
    "\u{0}",
    "😀",
    "wh_aaaaaaaaaaaaaaaaaaaaaaaaaa",
    "",
];

fn document() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (0..40_i64).prop_map(Value::from),
        any::<f64>().prop_map(|n| json!(n)),
        proptest::sample::select(WORDS).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::btree_map(
                proptest::sample::select(FIELDS).prop_map(str::to_owned),
                inner,
                0..8
            )
            .prop_map(|fields| fields.into_iter().collect::<Value>()),
        ]
    })
}

fn run<S: Strategy>(
    cases: u32,
    strategy: &S,
    check: impl Fn(&Stage, &tokio::runtime::Runtime, S::Value),
) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let stage = runtime.block_on(Stage::new());
    let mut runner = TestRunner::new(Config {
        failure_persistence: None,
        ..Config::with_cases(cases)
    });
    runner
        .run(strategy, |value| {
            check(&stage, &runtime, value);
            Ok(())
        })
        .unwrap();
}

#[test]
fn no_document_causes_a_server_error() {
    run(150, &document(), |stage, runtime, document| {
        let text = document.to_string();
        runtime.block_on(async {
            let webhook = "/v1/webhooks/wh_aaaaaaaaaaaaaaaaaaaaaaaaaa";
            for (method, path) in [
                (Method::POST, "/v1/events".to_owned()),
                (Method::POST, "/v1/webhooks".to_owned()),
                (Method::PATCH, webhook.to_owned()),
                (Method::POST, format!("{webhook}/rotate-secret")),
                (Method::POST, "/v1/sources".to_owned()),
                (
                    Method::PUT,
                    "/v1/sources/src_aaaaaaaaaaaaaaaaaaaaaaaaaa/routes".to_owned(),
                ),
                (Method::POST, "/v1/filters/test".to_owned()),
                (Method::POST, "/v1/retries".to_owned()),
                (Method::POST, "/v1/keys".to_owned()),
                (
                    Method::POST,
                    format!("/v1/deliveries/dlv_{}/retry", "a".repeat(52)),
                ),
                (
                    Method::POST,
                    format!("/v1/deliveries/dlv_{}/shadow", "a".repeat(52)),
                ),
            ] {
                let answer = stage.call(&stage.admin, method, &path, &text).await;
                assert!(
                    answer.status.as_u16() < 500,
                    "{path} {text}: {}",
                    answer.text
                );
                if !answer.status.is_success() {
                    let code = answer.json()["code"].as_str().unwrap().to_owned();
                    answer.problem(answer.status.as_u16(), &code);
                }
            }
        });
    });
}

#[test]
fn no_bytes_cause_a_server_error() {
    let bytes = proptest::collection::vec(any::<u8>(), 0..200);
    run(
        200,
        &(bytes, any::<bool>()),
        |stage, runtime, (bytes, enclosed)| {
            let bytes = if enclosed {
                [b"{\"type\":\"a\",\"payload\":", &bytes[..], b"}"].concat()
            } else {
                bytes
            };
            let request = Request::post("/v1/events")
                .header("authorization", format!("Bearer {}", stage.admin))
                .body(Body::from(bytes))
                .unwrap();
            let answer = runtime.block_on(stage.send(request));
            assert!(answer.status.as_u16() < 500, "{}", answer.text);
        },
    );
}

#[test]
fn no_query_causes_a_server_error() {
    let names = proptest::sample::select(
        &[
            "limit",
            "cursor",
            "from",
            "to",
            "status",
            "session_id",
            "event_type",
            "x",
        ][..],
    );
    let value = prop_oneof![
        "[!-~]{0,20}",
        any::<String>(),
        proptest::sample::select(WORDS).prop_map(str::to_owned)
    ];
    let query = proptest::collection::vec((names, value), 0..5);
    run(300, &query, |stage, runtime, pairs| {
        let query = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(&pairs)
            .finish();
        let answer = runtime.block_on(stage.get(&format!("/v1/deliveries?{query}")));
        assert!(answer.status.as_u16() < 500, "{query}: {}", answer.text);
    });
}

#[tokio::test]
async fn responses_repeat_only_a_bounded_part_of_the_input() {
    let stage = Stage::new().await;
    let long = "x".repeat(60_000);
    let answer = stage.post("/v1/webhooks", json!({&long: 1})).await;
    answer.problem(400, "invalid_request");
    assert!(answer.text.len() < 4000, "{} bytes", answer.text.len());
    let answer = stage.get(&format!("/v1/deliveries?{long}=1")).await;
    answer.problem(400, "invalid_request");
    assert!(answer.text.len() < 4000, "{} bytes", answer.text.len());
}

#[tokio::test]
async fn a_client_that_sends_too_much_still_gets_the_response() {
    let stage = Stage::new().await;
    let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    let serving = tokio::spawn(axum::serve(socket, stage.router.clone()).into_future());
    let length = 6 * 1024 * 1024;
    let head = format!(
        "POST /v1/events HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer {}\r\ncontent-length: {length}\r\n\r\n",
        stage.admin
    );
    let mut client = TcpStream::connect(address).await.unwrap();
    client.write_all(head.as_bytes()).await.unwrap();
    client.write_all(&vec![b' '; length]).await.unwrap();
    let mut answer = vec![0; 12];
    client.read_exact(&mut answer).await.unwrap();
    assert_eq!(answer, b"HTTP/1.1 413");
    serving.abort();
}
