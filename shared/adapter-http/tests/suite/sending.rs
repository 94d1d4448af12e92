//! A sender for tests, and checks of its outcomes.

use std::net::SocketAddr;
use std::time::Duration;

use http::{HeaderMap, HeaderValue};
use postrider_adapter_http::{HttpSender, SenderSettings};
use postrider_domain::egress::{Rules, Settings};
use postrider_domain::outcome::{Answer, Failure, FailureKind, Outcome, Phase, Response};
use postrider_domain::time::Millis;
use postrider_ports::sender::{Post, Sender};

/// For receivers that answer or fail on their own: never reached, however busy the machine is.
const PATIENT: Duration = Duration::from_secs(10);
/// For receivers that let the attempt time out.
pub(crate) const SHORT: Duration = Duration::from_secs(1);
/// How much longer than its timeout an attempt may take; the contract says a second, a busy machine adds to it.
const SLACK: Duration = Duration::from_secs(4);

pub(crate) fn rules(allow: &[&str]) -> Rules {
    let allow = allow.iter().map(|text| text.parse().unwrap()).collect();
    Rules::new(Settings {
        allow,
        ..Settings::default()
    })
    .unwrap()
}

pub(crate) fn settings(allow: &[&str]) -> SenderSettings {
    // A name server that is never asked: a test that needs names brings its own.
    let unused = SocketAddr::from(([127, 0, 0, 1], 9));
    SenderSettings {
        rules: rules(allow),
        name_servers: Some(vec![unused]),
        ..SenderSettings::default()
    }
}

/// May reach 127.0.0.1 and nothing else that is not public.
pub(crate) fn local_sender() -> HttpSender {
    HttpSender::new(settings(&["127.0.0.1/32"])).unwrap()
}

/// Gives up connecting soon.
pub(crate) fn hasty_sender(with: SenderSettings) -> HttpSender {
    let settings = SenderSettings {
        connect_timeout: SHORT,
        ..with
    };
    HttpSender::new(settings).unwrap()
}

/// The same as [`local_sender`], with this name server.
pub(crate) fn sender_asking(name_server: SocketAddr) -> HttpSender {
    let settings = SenderSettings {
        name_servers: Some(vec![name_server]),
        ..settings(&["127.0.0.1/32"])
    };
    HttpSender::new(settings).unwrap()
}

pub(crate) async fn post(sender: &HttpSender, url: &str) -> Outcome {
    post_body(sender, url, "{\"n\":1}", PATIENT).await
}

pub(crate) async fn post_briefly(sender: &HttpSender, url: &str) -> Outcome {
    post_body(sender, url, "{\"n\":1}", SHORT).await
}

/// A body of this length.
pub(crate) async fn post_long(sender: &HttpSender, url: &str, bytes: usize) -> Outcome {
    post_body(sender, url, vec![b'x'; bytes], PATIENT).await
}

pub(crate) async fn post_empty(sender: &HttpSender, url: &str) -> Outcome {
    post_body(sender, url, "", PATIENT).await
}

pub(crate) fn request(url: &str) -> Post {
    let mut headers = HeaderMap::new();
    headers.insert("webhook-id", HeaderValue::from_static("evt_1"));
    Post {
        target_url: url.parse().unwrap(),
        headers,
        body: "{}".into(),
        timeout: Millis::from(PATIENT),
    }
}

async fn post_body(
    sender: &HttpSender,
    url: &str,
    body: impl Into<bytes::Bytes>,
    within: Duration,
) -> Outcome {
    let post = Post {
        body: body.into(),
        timeout: Millis::from(within),
        ..request(url)
    };
    tokio::time::timeout(within + SLACK, sender.post(post))
        .await
        .expect("an attempt ends soon after its timeout")
        .expect("this machine can open connections")
}

#[track_caller]
pub(crate) fn response(outcome: Outcome) -> Response {
    match outcome.result {
        Answer::Response(response) => response,
        Answer::Failed(failure) => panic!("expected a response, got {failure:?}"),
    }
}

#[track_caller]
pub(crate) fn failed(outcome: Outcome, kind: FailureKind, phase: Phase) -> Failure {
    match outcome.result {
        Answer::Response(response) => panic!("expected a failure, got {response:?}"),
        Answer::Failed(failure) => {
            assert_eq!((failure.kind, failure.phase), (kind, phase), "{failure:?}");
            failure
        }
    }
}
