//! `postrider export` and `postrider import`: the real binary between real gateways, and from other services.

use std::path::Path;
use std::process::Stdio;

use http::Method;
use postrider_domain::secret::SigningSecret;
use postrider_domain::signature::{SignedRequest, verify_standard};
use postrider_domain::time::Timestamp;
use postrider_testkit::receiver::{Answer, Received, Receiver};
use postrider_tests::api::Api;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::command::{PATIENCE, Serve, TOKEN, binary};

const OPEN: (&str, &str) = ("POSTRIDER_EGRESS_ALLOW", "127.0.0.1/32");
pub(crate) const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
pub(crate) const PASSPHRASE: &str = "correct horse battery staple";

/// Runs the command against a gateway; returns exit code, output and error output.
pub(crate) async fn run(
    url: &str,
    token: &str,
    args: &[&str],
    passphrase: &str,
) -> (i32, String, String) {
    let mut command = Command::new(binary());
    command
        .args(args)
        .env_clear()
        .env("NO_COLOR", "1")
        .env("POSTRIDER_URL", url)
        .env("POSTRIDER_TOKEN", token)
        .env("POSTRIDER_PASSPHRASE", passphrase)
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let ended = tokio::time::timeout(PATIENCE, command.output()).await;
    let ended = ended.expect("it ends").unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        ended.status.code().unwrap(),
        text(ended.stdout),
        text(ended.stderr),
    )
}

/// Runs a command that must succeed; returns its JSON.
pub(crate) async fn done(url: &str, token: &str, args: &[&str]) -> Value {
    let (code, out, err) = run(url, token, &[args, &["--json"]].concat(), PASSPHRASE).await;
    assert_eq!(code, 0, "{out}{err}");
    serde_json::from_str(&out).unwrap()
}

/// A webhook with a known secret that retries after a second; returns its id.
pub(crate) async fn webhook(api: &Api, receiver: &Receiver) -> String {
    let retry = json!({"profile": "custom", "delays_seconds": vec![1; 30], "jitter_bps": 0});
    let draft = json!({
        "name": "moved", "target_url": receiver.url(), "event_types": ["*"], "retry": retry,
        "secret": SECRET, "headers": {"X-Api-Key": "k-1"},
    });
    let webhook = api.call(Method::POST, "/v1/webhooks", Some(draft)).await;
    webhook["id"].as_str().unwrap().to_owned()
}

pub(crate) fn assert_signed(received: &Received, secret: &str) {
    let secret = SigningSecret::parse(secret).unwrap();
    let timestamp = received.header("webhook-timestamp");
    let request = SignedRequest {
        id: received.header("webhook-id"),
        timestamp,
        signatures: received.header("webhook-signature"),
        body: &received.body,
    };
    let now = Timestamp::from_millis(timestamp.parse::<i64>().unwrap() * 1000);
    assert_eq!(verify_standard(request, [&secret].into_iter(), now), Ok(()));
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[tokio::test]
async fn a_moved_gateway_sends_each_delivery_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.jsonl");
    let receiver = Receiver::start().await;
    let (old, new) = (Serve::start(&[OPEN]).await, Serve::start(&[OPEN]).await);
    let id = webhook(&old, &receiver).await;
    let delivered = old.publish(&id, r#"{"n": 1}"#).await;
    old.settled(&delivered).await;
    receiver.answer(Answer::status(500));
    let open = old.publish(&id, r#"{"n": 2}"#).await;
    receiver.received(2).await;
    let args = ["export", text(&file), "--deliveries", "all", "--pause"];
    done(&old.url, TOKEN, &args).await;
    let sent_by_old = receiver.requests().len();
    receiver.answer(Answer::status(200));

    let imported = done(&new.url, TOKEN, &["import", text(&file)]).await;
    assert_eq!(imported["rejected"], 0, "{imported}");
    assert_eq!(imported["conflicts"], 0, "{imported}");
    let row = new.settled(&open).await;
    assert_eq!(row["status"], "delivered", "{row}");
    assert_eq!(
        row["attempts"].as_array().unwrap().len(),
        sent_by_old,
        "the attempts of both gateways, without that of the first delivery: {row}"
    );
    let all = receiver.requests();
    assert_eq!(all.len(), sent_by_old + 1, "nothing is sent twice");
    assert_signed(all.last().unwrap(), SECRET);
    assert_eq!(all.last().unwrap().header("x-api-key"), "k-1");
    assert_eq!(
        all.last().unwrap().header("webhook-id"),
        all[1].header("webhook-id")
    );

    let again = done(&new.url, TOKEN, &["import", text(&file)]).await;
    assert_eq!(again["created"], 0, "{again}");
    let path = format!("/v1/deliveries/{delivered}");
    let history = new.call(Method::GET, &path, None).await;
    assert_eq!(history["status"], "delivered", "{history}");
    assert_eq!(receiver.requests().len(), sent_by_old + 1);
}

#[tokio::test]
async fn an_interrupted_export_is_completed_and_a_wrong_passphrase_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.jsonl");
    let receiver = Receiver::start().await;
    let (old, new) = (Serve::start(&[OPEN]).await, Serve::start(&[OPEN]).await);
    webhook(&old, &receiver).await;
    done(&old.url, TOKEN, &["export", text(&file)]).await;
    let whole = std::fs::read_to_string(&file).unwrap();
    assert!(!whole.contains(SECRET) && !whole.contains("k-1"), "{whole}");

    let (code, _, err) = run(&old.url, TOKEN, &["export", text(&file)], PASSPHRASE).await;
    assert_eq!(code, 2, "it is not overwritten");
    assert!(err.contains("--resume"), "{err}");

    let lines: Vec<&str> = whole.lines().collect();
    let cut = whole.len() - lines.last().unwrap().len() - 20;
    std::fs::write(&file, &whole[..cut]).unwrap();
    let (code, _, err) = run(&new.url, TOKEN, &["import", text(&file)], PASSPHRASE).await;
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("incomplete"), "{err}");
    done(&old.url, TOKEN, &["export", text(&file), "--resume"]).await;

    let (code, _, err) = run(&new.url, TOKEN, &["import", text(&file)], "another one").await;
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("the passphrase is wrong"), "{err}");
    let listed = new.call(Method::GET, "/v1/webhooks", None).await;
    assert_eq!(listed["items"], json!([]));
    let imported = done(&new.url, TOKEN, &["import", text(&file)]).await;
    assert_eq!(imported["created"], 1, "{imported}");
}

#[tokio::test]
async fn a_line_that_cannot_be_imported_is_named_with_its_field() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.jsonl");
    let receiver = Receiver::start().await;
    let old = Serve::start(&[OPEN]).await;
    // The new gateway may not send to this machine.
    let new = Serve::start(&[]).await;
    webhook(&old, &receiver).await;
    done(&old.url, TOKEN, &["export", text(&file)]).await;
    let (code, _, err) = run(&new.url, TOKEN, &["import", text(&file)], PASSPHRASE).await;
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("line 2: webhook wh_"), "{err}");
    assert!(err.contains("target_url"), "{err}");

    let whole = std::fs::read_to_string(&file).unwrap();
    let newer = whole.replacen("\"version\":1", "\"version\":2", 1);
    std::fs::write(&file, newer).unwrap();
    let (code, _, err) = run(&new.url, TOKEN, &["import", text(&file)], PASSPHRASE).await;
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("version 2 is newer"), "{err}");
}

/// Imports a recorded document whose `RECEIVER` is this one; returns what the command says.
async fn imported_from(
    service: &str,
    document: &str,
    gateway: &Serve,
    receiver: &Receiver,
) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("other.json");
    std::fs::write(&file, document.replace("RECEIVER", &receiver.url())).unwrap();
    let args = ["import", "--from", service, text(&file)];
    let said = done(&gateway.url, TOKEN, &args).await;
    let again = done(&gateway.url, TOKEN, &args).await;
    assert_eq!(again["created"], 0, "{again}");
    said
}

/// Publishes with a key of a tenant.
async fn publish(gateway: &Serve, tenant: &str, event_type: &str) {
    let key = json!({"name": "publisher", "scopes": ["publish"], "tenant": tenant});
    let key = gateway.call(Method::POST, "/v1/keys", Some(key)).await;
    let token = key["token"].as_str().unwrap().to_owned();
    let api = Api::new(gateway.url.clone(), token);
    let event = json!({"type": event_type, "payload": {"a": 1}});
    let answer = api.call(Method::POST, "/v1/events", Some(event)).await;
    assert_ne!(answer["deliveries"], json!([]), "{answer}");
}

async fn max_rates(gateway: &Serve, tenant: &str) -> Vec<Value> {
    let key = json!({"name": "reader", "scopes": ["read"], "tenant": tenant});
    let key = gateway.call(Method::POST, "/v1/keys", Some(key)).await;
    let api = Api::new(
        gateway.url.clone(),
        key["token"].as_str().unwrap().to_owned(),
    );
    let listed = api.call(Method::GET, "/v1/webhooks", None).await;
    let webhooks = listed["items"].as_array().unwrap();
    webhooks
        .iter()
        .map(|webhook| webhook["max_rate"].clone())
        .collect()
}

#[tokio::test]
async fn receivers_of_svix_verify_with_their_old_secret() {
    let receiver = Receiver::start().await;
    let gateway = Serve::start(&[OPEN]).await;
    let document = include_str!("fixtures/svix.json");
    let said = imported_from("svix", document, &gateway, &receiver).await;
    assert_eq!(said["created"], 2, "{said}");
    let lost = said["not_carried_over"].to_string();
    for what in ["project_123", "metadata", "Authorization"] {
        assert!(lost.contains(what), "{what}: {lost}");
    }
    publish(&gateway, "customer-1", "user.signup").await;
    let received = receiver.received(1).await.remove(0);
    assert_signed(&received, "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD");
    assert_eq!(
        max_rates(&gateway, "customer-1").await,
        [json!(10), Value::Null]
    );
    assert_eq!(received.header("x-example"), "123");
}

#[tokio::test]
async fn endpoints_of_convoy_keep_their_secret_as_the_key() {
    let receiver = Receiver::start().await;
    let gateway = Serve::start(&[OPEN]).await;
    let document = include_str!("fixtures/convoy.json");
    let said = imported_from("convoy", document, &gateway, &receiver).await;
    assert_eq!(said["created"], 1, "{said}");
    let lost = said["not_carried_over"].to_string();
    for what in ["X-Convoy-Signature", "timeout", "filter"] {
        assert!(lost.contains(what), "{what}: {lost}");
    }
    publish(&gateway, "customer-2", "invoice.paid").await;
    let received = receiver.received(1).await.remove(0);
    // The base64 of `convoy-secret-of-24-bytes`.
    assert_signed(&received, "whsec_Y29udm95LXNlY3JldC1vZi0yNC1ieXRlcw==");
    assert_eq!(max_rates(&gateway, "customer-2").await, [json!(100)]);
    assert_eq!(received.header("x-api-key"), "k-1");
}
