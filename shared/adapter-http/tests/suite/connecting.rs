//! The connect timeout: resolving, connecting and the TLS handshake share it, and the response does not.

use std::time::Duration;

use postrider_adapter_http::{HttpSender, SenderSettings};
use postrider_domain::outcome::{FailureKind, Outcome, Phase};
use postrider_domain::time::Millis;
use postrider_domain::webhook::longest_attempt;
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

use crate::names::{Answer, Names};
use crate::receiver::Receiver;
use crate::sending::{failed, post, response, settings};

const CONNECT_TIMEOUT: Duration = Duration::from_millis(200);
/// An attempt that ends this early was ended neither by its own timeout nor by the resolver giving up.
const LONG_BEFORE_THE_ATTEMPT_ENDS: Duration = Duration::from_secs(3);

fn sender(with: SenderSettings) -> HttpSender {
    HttpSender::new(SenderSettings {
        connect_timeout: CONNECT_TIMEOUT,
        ..with
    })
    .unwrap()
}

async fn soon(attempt: impl Future<Output = Outcome>) -> Outcome {
    timeout(LONG_BEFORE_THE_ATTEMPT_ENDS, attempt)
        .await
        .expect("the connect timeout ends the attempt")
}

#[test]
fn it_is_five_seconds_by_default_and_comes_on_top_of_the_timeout() {
    assert_eq!(
        SenderSettings::default().connect_timeout,
        Duration::from_secs(5)
    );
    let longest = longest_attempt(Millis::from_seconds(10));
    assert_eq!(longest, Millis::from_seconds(15));
}

#[tokio::test]
async fn a_stalled_tls_handshake_ends_with_it() {
    let silent = Receiver::start(|mut guest| async move { guest.until_closed().await }).await;
    let sender = sender(settings(&["127.0.0.1/32"]));
    let outcome = soon(post(&sender, &format!("https://{}/", silent.addr))).await;
    failed(outcome, FailureKind::Timeout, Phase::Tls);
}

#[tokio::test]
async fn a_receiver_that_never_accepts_ends_with_it() {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let full = socket.listen(1).unwrap();
    let addr = full.local_addr().unwrap();
    // Once the queue of the listener is full, the kernel drops new connections.
    let mut queued = Vec::new();
    while let Ok(stream) = timeout(Duration::from_millis(300), TcpStream::connect(addr)).await {
        queued.push(stream.unwrap());
    }
    let sender = sender(settings(&["127.0.0.1/32"]));
    let outcome = soon(post(&sender, &format!("http://{addr}/"))).await;
    failed(outcome, FailureKind::Timeout, Phase::Connect);
}

#[tokio::test]
async fn a_silent_name_server_ends_with_it() {
    let names = Names::start().await;
    names.set("silent.example.com", Answer::Nothing);
    let sender = sender(SenderSettings {
        name_servers: Some(vec![names.addr]),
        ..settings(&[])
    });
    let outcome = soon(post(&sender, "https://silent.example.com/")).await;
    failed(outcome, FailureKind::Timeout, Phase::Dns);
}

#[tokio::test]
#[expect(
    clippy::disallowed_methods,
    reason = "the receiver is slow on purpose: longer than the connect timeout"
)]
async fn a_response_may_take_longer() {
    let slow = Receiver::start(|mut guest| async move {
        guest.request().await;
        tokio::time::sleep(2 * CONNECT_TIMEOUT).await;
        guest
            .send(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
            .await;
    })
    .await;
    let sender = sender(settings(&["127.0.0.1/32"]));
    assert_eq!(response(post(&sender, &slow.url("/")).await).status, 200);
}
