//! The samples that `postrider trigger` sends, verified by the providers' own libraries.

use postrider_adapter_system::SystemClock;
use postrider_domain::inbound::Inbound;
use postrider_domain::scheme::{Part, Scheme, Way};
use postrider_ports::clock::Clock;
use postrider_samples::{self as sample, SampleEvent, SampleKeys, Unsigned};

use super::libraries::{Library, Request, node, python};

const URL: &str = "https://hooks.example.com/in";

fn signed(scheme: &Scheme, way: &Way, keys: &SampleKeys, event: &SampleEvent) -> Request {
    let unsigned = Unsigned {
        url: URL,
        query: Some("tenant=7"),
        id: "smp_1",
        headers: event.headers,
        content_type: event.content_type,
        body: event.body.as_bytes(),
    };
    let inbound = sample::sign_in(way, scheme, keys, unsigned, SystemClock.now()).unwrap();
    request(&inbound, event.content_type)
}

fn request(inbound: &Inbound, content_type: &'static str) -> Request {
    let headers = inbound
        .headers
        .iter()
        .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()));
    Request {
        url: format!("{URL}?{}", inbound.query.as_deref().unwrap()),
        content_type,
        headers: headers.collect(),
        body: String::from_utf8(inbound.body.to_vec()).unwrap(),
    }
}

/// Whether the library verifies these samples, and each of them with unsigned data appended.
async fn check(library: Library, secret: &str, samples: Vec<Request>) {
    let with_secret = |request: Request| (secret.to_owned(), request);
    let changed = samples.iter().map(|request| Request {
        body: format!("{} ", request.body),
        ..request.clone()
    });
    let forged: Vec<_> = changed.map(with_secret).collect();
    let genuine: Vec<_> = samples.into_iter().map(with_secret).collect();
    assert_eq!(library.verify(&genuine).await, vec![true; genuine.len()]);
    assert_eq!(library.verify(&forged).await, vec![false; forged.len()]);
}

/// All samples of a scheme, signed its preferred way.
async fn check_all(scheme: &str, library: Library) {
    let scheme = Scheme::named(scheme).unwrap();
    let keys = sample::keys(&scheme, &[7; 32]).unwrap();
    let samples: Vec<_> = sample::events(&scheme)
        .iter()
        .map(|event| signed(&scheme, &scheme.ways[0], &keys, event))
        .collect();
    check(library, keys.secret.expose(), samples).await;
}

#[tokio::test]
async fn stripe_for_python_and_for_node_verify_our_samples() {
    check_all("stripe", python("stripe")).await;
    check_all("stripe", node("stripe")).await;
}

#[tokio::test]
async fn slack_sdk_verifies_our_samples() {
    check_all("slack", python("slack_sdk")).await;
}

#[tokio::test]
async fn octokit_verifies_our_samples_of_github() {
    check_all("github", node("@octokit/webhooks")).await;
}

#[tokio::test]
async fn standardwebhooks_and_svix_verify_our_samples() {
    check_all("standard", python("standardwebhooks")).await;
    check_all("standard", node("standardwebhooks")).await;
    check_all("svix", python("svix")).await;
}

#[tokio::test]
async fn twilio_verifies_our_samples_whether_form_or_json() {
    check_all("twilio", python("twilio")).await;
    let scheme = Scheme::named("twilio").unwrap();
    let keys = sample::keys(&scheme, &[7; 32]).unwrap();
    let event = SampleEvent {
        content_type: "application/json",
        body: r#"{"MessageSid":"SM1234567890","Body":"grüße"}"#,
        ..sample::events(&scheme)[0]
    };
    let hashing = |way: &&Way| way.signed.contains(&Part::HashedBody);
    let samples: Vec<_> = scheme
        .ways
        .iter()
        .filter(hashing)
        .map(|way| signed(&scheme, way, &keys, &event))
        .collect();
    assert_eq!(samples.len(), 2, "with and without the port");
    check(python("twilio"), keys.secret.expose(), samples).await;
}
