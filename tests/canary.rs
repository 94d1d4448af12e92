//! Secrets, bodies and signatures do not leak: marked ones are sent through the whole gateway and searched for everywhere
//! else.

mod customers;

use std::fs;
use std::path::Path;

use http::Method;
use postrider_domain::secret::SigningSecret;
use postrider_domain::signature;
use postrider_testkit::receiver::{Answer, Receiver};
use serde_json::{Value, json};

use crate::command::{Serve, TOKEN};
use postrider_tests::api::Api;

const SECRET: &str = "whsec_Y2FuYXJ5Y2FuYXJ5Y2FuYXJ5Y2FuYXJ5";
const SOURCE_SECRET: &str = "whsec_c2VjcmV0IG9mIGEgc291cmNlLCBhIGNhbmFyeQ==";
const CREDENTIAL: &str = "Bearer canary-credential";
const BODY: &str = "canary-of-the-body";
/// Of a rejected request, which is stored sealed for its owner.
const FORGED: &str = "canary-of-a-forgery";
const QUERY: &str = "canary-of-the-query";
const LOGGED: [(&str, &str); 2] = [
    ("POSTRIDER_EGRESS_ALLOW", "127.0.0.1/32"),
    ("POSTRIDER_LOG", "trace,hyper=info,hyper_util=info"),
];

fn contains(text: &[u8], part: &str) -> bool {
    text.windows(part.len())
        .any(|window| window == part.as_bytes())
}

fn files(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let files = entries.filter(|path| path.is_file() && !path.ends_with("admin-token"));
    files
        .map(|path| (path.display().to_string(), fs::read(&path).unwrap()))
        .collect()
}

async fn notifications(gateway: &Api, wanted: &str) -> String {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let request = client
        .get(format!("{}/v1/stream", gateway.url))
        .bearer_auth(&gateway.token);
    let mut stream = request.header("last-event-id", "0").send().await.unwrap();
    let mut seen = String::new();
    while !seen.contains(wanted) {
        let chunk = tokio::time::timeout(crate::command::PATIENCE, stream.chunk()).await;
        let chunk = chunk
            .expect("a notification arrives")
            .unwrap()
            .expect("the stream stays open");
        seen.push_str(&String::from_utf8_lossy(&chunk));
    }
    seen
}

/// Creates a source and posts a signed request to it, then a forged one. Returns the path of the stored rejection.
async fn receive(gateway: &Serve, webhook: &str) -> String {
    let routes = json!([{"event_type": "*", "intent": "look", "webhook_id": webhook}]);
    let draft =
        json!({"name": "canary", "scheme": "postrider", "secret": SOURCE_SECRET, "routes": routes});
    let source = gateway.call(Method::POST, "/v1/sources", Some(draft)).await;
    assert!(!source.to_string().contains(SOURCE_SECRET));
    let url = format!("{}{}", gateway.url, source["url"].as_str().unwrap());
    let secret = SigningSecret::parse(SOURCE_SECRET).unwrap();
    let signature = signature::plain(&secret, BODY.as_bytes());
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    for (body, status) in [(BODY, 202), (FORGED, 401)] {
        let request = client
            .post(format!("{url}?key={QUERY}"))
            .header("x-observatory-signature", &signature)
            .body(body);
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), status);
        let answer: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
        if status == 202 {
            let delivery = answer["deliveries"][0]["id"].as_str().unwrap();
            assert_eq!(gateway.settled(delivery).await["status"], "delivered");
        }
    }
    format!("/v1/sources/{}/refused", source["id"].as_str().unwrap())
}

#[tokio::test]
async fn a_canary_appears_in_no_log_error_notification_response_or_file() {
    let receiver = Receiver::start().await;
    receiver.answer_next([Answer::status(500)]);
    let (data, logs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let log = logs.path().join("log");
    let mut gateway = Serve::start_logged(data.path(), &LOGGED, &log).await;

    let draft = json!({
        "name": "canary", "event_types": ["*"], "secret": SECRET,
        "target_url": format!("{}?key={QUERY}", receiver.url()),
        "headers": {"Authorization": CREDENTIAL, "X-Env": "test"},
        "retry": {"profile": "custom", "delays_seconds": [1]},
    });
    let webhook = gateway
        .call(Method::POST, "/v1/webhooks", Some(draft.clone()))
        .await;
    assert_eq!(webhook["secret"], SECRET, "shown once, on creation");
    let id = webhook["id"].as_str().unwrap();
    let delivery = gateway
        .publish(id, &format!("{{\"text\":\"{BODY}\"}}"))
        .await;
    let row = gateway.settled(&delivery).await;
    assert_eq!(row["status"], "delivered");
    let refused = receive(&gateway, id).await;

    let mut answers: Vec<Value> = Vec::new();
    // Its URL and headers are shown only to the caller.
    let elsewhere = Receiver::start().await;
    let wish = json!({"url": format!("{}?key={QUERY}", elsewhere.url()), "include_headers": true});
    let shadow = format!("/v1/deliveries/{delivery}/shadow");
    answers.push(gateway.call(Method::POST, &shadow, Some(wish)).await);
    assert_eq!(elsewhere.requests()[0].header("authorization"), CREDENTIAL);
    for path in [
        "/v1/webhooks",
        &format!("/v1/webhooks/{id}"),
        "/v1/deliveries",
        "/v1/keys",
        "/v1/sources",
        &refused,
    ] {
        answers.push(gateway.call(Method::GET, path, None).await);
    }
    let mut bad = draft;
    bad["secret"] = format!("{SECRET}!").into();
    bad["headers"] = json!({"Host": CREDENTIAL});
    let refused = gateway
        .try_call(Method::POST, "/v1/webhooks", Some(bad.to_string()))
        .await
        .unwrap();
    assert_eq!(refused.0, 400);
    answers.push(refused.1);
    for answer in answers {
        let text = answer.to_string();
        for canary in [SECRET, SOURCE_SECRET, CREDENTIAL, BODY, FORGED, TOKEN] {
            assert!(!text.contains(canary), "{canary} in {text}");
        }
    }

    let announced = notifications(&gateway, "inbound.signature_failed").await;
    assert!(announced.contains("delivery.delivered"));
    for canary in [
        SECRET,
        SOURCE_SECRET,
        CREDENTIAL,
        BODY,
        FORGED,
        QUERY,
        "sha256=",
    ] {
        assert!(!announced.contains(canary), "{canary} in {announced}");
    }

    assert!(gateway.terminate().await);
    let logged = fs::read(&log).unwrap();
    assert!(
        contains(&logged, "delivery.attempted"),
        "attempts were logged"
    );
    assert!(contains(&logged, "delivery.shadowed"));
    assert!(
        contains(&logged, "inbound.accepted") && contains(&logged, "inbound.rejected"),
        "requests of sources were logged"
    );
    for canary in [
        SECRET,
        SOURCE_SECRET,
        CREDENTIAL,
        BODY,
        FORGED,
        QUERY,
        TOKEN,
        "sha256=",
    ] {
        assert!(!contains(&logged, canary), "{canary} in the log");
    }
    let stored = files(data.path());
    assert!(
        stored.iter().any(|(_, bytes)| contains(bytes, BODY)),
        "the database was searched"
    );
    for (name, bytes) in stored {
        for canary in [SECRET, SOURCE_SECRET, CREDENTIAL, FORGED, TOKEN] {
            assert!(!contains(&bytes, canary), "{canary} in {name}");
        }
    }
}
