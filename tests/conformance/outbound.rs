//! Our signatures, verified by the libraries that receivers use.

use http::Method;
use postrider_testkit::receiver::{Received, Receiver};
use serde_json::json;

use super::libraries::{Library, Request, node, python};
use crate::command::Serve;

const PAYLOADS: [&str; 4] = [
    r#"{"task":"t-1","ok":true}"#,
    r#"{ "spaced" : [ 1 ,2 ] }"#,
    r#""grüße 🚀""#,
    "null",
];

/// Requests of the real gateway as a receiver got them, each with a secret that signed it.
struct Delivered {
    /// Before the rotation of the secret, and after it with the new one: it signs all headers.
    newest: Vec<(String, Request)>,
    /// After the rotation with the old one: it signs only the Standard Webhooks list.
    retiring: (String, Request),
}

async fn deliver() -> Delivered {
    let receiver = Receiver::start().await;
    let gateway = Serve::start(&[("POSTRIDER_EGRESS_ALLOW", "127.0.0.1/32")]).await;
    let draft = json!({"name": "n", "target_url": receiver.url(), "event_types": ["*"]});
    let webhook = gateway
        .call(Method::POST, "/v1/webhooks", Some(draft))
        .await;
    let id = webhook["id"].as_str().unwrap();
    let old = webhook["secret"].as_str().unwrap().to_owned();
    for payload in PAYLOADS {
        gateway.publish(id, payload).await;
    }
    let before = receiver.received(PAYLOADS.len()).await;
    let path = format!("/v1/webhooks/{id}/rotate-secret");
    let rotated = gateway.call(Method::POST, &path, None).await;
    let new = rotated["secret"].as_str().unwrap().to_owned();
    gateway.publish(id, PAYLOADS[0]).await;
    let after = receiver.received(PAYLOADS.len() + 1).await.pop().unwrap();
    let mut newest: Vec<_> = before
        .iter()
        .map(|received| (old.clone(), request(received)))
        .collect();
    newest.push((new, request(&after)));
    Delivered {
        newest,
        retiring: (old, request(&after)),
    }
}

fn request(received: &Received) -> Request {
    let names = [
        "webhook-id",
        "webhook-timestamp",
        "webhook-signature",
        "x-observatory-signature",
    ];
    let headers = names.map(|name| (name.to_owned(), received.header(name).to_owned()));
    Request {
        headers: headers.to_vec(),
        body: String::from_utf8(received.body.to_vec()).unwrap(),
        ..Request::default()
    }
}

fn tampered((secret, request): &(String, Request)) -> (String, Request) {
    let body = r#"{"task":"t-2"}"#.to_owned();
    (
        secret.clone(),
        Request {
            body,
            ..request.clone()
        },
    )
}

async fn check(library: Library, requests: &[(String, Request)]) {
    let forged: Vec<_> = requests.iter().map(tampered).collect();
    let verdicts = library.verify(requests).await;
    assert!(
        verdicts.iter().all(|is_genuine| *is_genuine),
        "{verdicts:?}"
    );
    let verdicts = library.verify(&forged).await;
    assert!(
        verdicts.iter().all(|is_genuine| !is_genuine),
        "{verdicts:?}"
    );
}

#[tokio::test]
async fn the_python_libraries_of_standard_webhooks_and_svix_verify_our_signatures() {
    let delivered = deliver().await;
    check(python("plain"), &delivered.newest).await;
    let mut all = delivered.newest;
    all.push(delivered.retiring);
    for library in [python("standardwebhooks"), python("svix")] {
        check(library, &all).await;
    }
}

#[tokio::test]
async fn the_node_library_of_standard_webhooks_verifies_our_signatures() {
    let delivered = deliver().await;
    check(node("plain"), &delivered.newest).await;
    let mut all = delivered.newest;
    all.push(delivered.retiring);
    check(node("standardwebhooks"), &all).await;
}
