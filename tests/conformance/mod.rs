//! Our signatures, verified by the libraries that receivers use; our metrics, read by Prometheus' own; our traces, read with
//! OpenTelemetry's.

pub(crate) mod collector;
mod metrics;
mod traces;

use std::path::{Path, PathBuf};
use std::process::Stdio;

use data_encoding::BASE64;
use postrider_testkit::receiver::{Received, Receiver};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::command::Serve;

const PAYLOADS: [&str; 4] = [
    r#"{"task":"t-1","ok":true}"#,
    r#"{ "spaced" : [ 1 ,2 ] }"#,
    r#""grüße 🚀""#,
    "null",
];

pub(super) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_owned()
}

async fn verdicts(mut verifier: Command, messages: &[Value]) -> Vec<bool> {
    let mut child = verifier
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("the verifier starts; `make setup` installs what it needs");
    let mut input = child.stdin.take().unwrap();
    for message in messages {
        input
            .write_all(format!("{message}\n").as_bytes())
            .await
            .unwrap();
    }
    drop(input);
    let output = child.wait_with_output().await.unwrap();
    assert!(output.status.success());
    let lines = String::from_utf8(output.stdout).unwrap();
    let answers = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    answers.map(|answer| answer["ok"] == true).collect()
}

/// Requests as a receiver got them from the real gateway, with the webhook's secret; then the secret is rotated and
/// the same is sent again, to be verified with either secret.
async fn deliver() -> Vec<Value> {
    let receiver = Receiver::start().await;
    let gateway = Serve::start(&[("POSTRIDER_EGRESS_ALLOW", "127.0.0.1/32")]).await;
    let draft = json!({"name": "n", "target_url": receiver.url(), "event_types": ["*"]});
    let webhook = gateway
        .call(http::Method::POST, "/v1/webhooks", Some(draft))
        .await;
    let id = webhook["id"].as_str().unwrap();
    let old = webhook["secret"].as_str().unwrap().to_owned();
    for payload in PAYLOADS {
        gateway.publish(id, payload).await;
    }
    let before = receiver.received(PAYLOADS.len()).await;
    let path = format!("/v1/webhooks/{id}/rotate-secret");
    let rotated = gateway.call(http::Method::POST, &path, None).await;
    let new = rotated["secret"].as_str().unwrap().to_owned();
    gateway.publish(id, PAYLOADS[0]).await;
    let after = receiver.received(PAYLOADS.len() + 1).await.pop().unwrap();
    let mut messages: Vec<_> = before
        .iter()
        .map(|request| message(&old, request, true))
        .collect();
    messages.push(message(&new, &after, true));
    messages.push(message(&old, &after, false));
    messages
}

fn message(secret: &str, request: &Received, plain: bool) -> Value {
    let mut headers = json!({
        "webhook-id": request.header("webhook-id"),
        "webhook-timestamp": request.header("webhook-timestamp"),
        "webhook-signature": request.header("webhook-signature"),
    });
    if plain {
        headers["x-observatory-signature"] = request.header("x-observatory-signature").into();
    }
    json!({"secret": secret, "headers": headers, "body_base64": BASE64.encode(&request.body)})
}

fn tampered(message: &Value) -> Value {
    let mut tampered = message.clone();
    tampered["body_base64"] = BASE64.encode(b"{\"task\":\"t-2\"}").into();
    tampered
}

async fn check(verifier: Command) {
    let genuine = deliver().await;
    let mut messages = genuine.clone();
    messages.extend(genuine.iter().map(tampered));
    let verdicts = verdicts(verifier, &messages).await;
    let (good, bad) = verdicts.split_at(genuine.len());
    assert!(good.iter().all(|ok| *ok), "{verdicts:?}");
    assert_eq!(bad.len(), genuine.len());
    assert!(bad.iter().all(|ok| !ok), "{verdicts:?}");
}

#[tokio::test]
async fn the_python_library_of_standard_webhooks_verifies_our_signatures() {
    let mut python = Command::new(repository().join(".tools/venv/bin/python"));
    python.arg(repository().join("tests/conformance/verify.py"));
    check(python).await;
}

#[tokio::test]
async fn the_node_library_of_standard_webhooks_verifies_our_signatures() {
    let mut node = Command::new("node");
    node.arg(repository().join("tests/conformance/verify.mjs"));
    check(node).await;
}
