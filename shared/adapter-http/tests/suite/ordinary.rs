//! Ordinary receivers: what is sent, what is kept, and when a connection is reused.

use std::net::{Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use postrider_adapter_http::{HttpSender, SenderSettings};
use postrider_domain::egress::Rules;
use postrider_domain::outcome::{FailureKind, KEPT_BODY_BYTES, Phase, RetryAfter};
use postrider_domain::time::Millis;
use proptest::prelude::*;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::names::{Answer, Names, ips};
use crate::receiver::Receiver;
use crate::sending::{
    failed, hasty_sender, local_sender, post, post_briefly, post_empty, post_long, response,
    sender_asking, settings,
};

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

#[tokio::test]
async fn the_request_is_sent_as_given() {
    let receiver = Receiver::answering(OK).await;
    let answer = response(post(&local_sender(), &receiver.url("/hook/%C3%BC?token=a%20b&c")).await);
    assert_eq!((answer.status, answer.body.as_str()), (200, "ok"));
    let requests = receiver.requests();
    let (head, body) = requests[0].split_once("\r\n\r\n").unwrap();
    let mut lines: Vec<&str> = head.lines().collect();
    assert_eq!(lines.remove(0), "POST /hook/%C3%BC?token=a%20b&c HTTP/1.1");
    lines.sort_unstable();
    let host = format!("host: {}", receiver.addr);
    assert_eq!(
        lines,
        ["content-length: 7", host.as_str(), "webhook-id: evt_1"],
        "and nothing else"
    );
    assert_eq!(body, "{\"n\":1}");
}

#[tokio::test]
async fn an_empty_body_is_sent_with_its_length() {
    let receiver = Receiver::answering(OK).await;
    response(post_empty(&local_sender(), &receiver.url("/")).await);
    assert!(
        receiver.requests()[0].contains("content-length: 0\r\n"),
        "{:?}",
        receiver.requests()
    );
}

#[tokio::test]
async fn the_status_and_retry_after_are_reported() {
    let sender = local_sender();
    let busy =
        Receiver::answering("HTTP/1.1 429 Slow\r\nretry-after: 7\r\ncontent-length: 0\r\n\r\n")
            .await;
    let answer = response(post(&sender, &busy.url("/")).await);
    assert_eq!(
        (answer.status, answer.retry_after),
        (429, Some(RetryAfter::Delay(Millis::from_seconds(7))))
    );
    let odd =
        Receiver::answering("HTTP/1.1 599 \r\nretry-after: soon\r\ncontent-length: 0\r\n\r\n")
            .await;
    let answer = response(post(&sender, &odd.url("/")).await);
    assert_eq!((answer.status, answer.retry_after), (599, None));
}

#[tokio::test]
async fn a_reused_connection_has_no_connect_timings() {
    let names = Names::start().await;
    names.set("hooks.example.com", Answer::Addresses(ips(&["127.0.0.1"])));
    let sender = sender_asking(names.addr);
    let receiver = Receiver::answering(OK).await;
    let url = format!("http://hooks.example.com:{}/", receiver.addr.port());

    let first = post(&sender, &url).await;
    assert!(
        first.timings.dns_ms.is_some() && first.timings.connect_ms.is_some(),
        "{:?}",
        first.timings
    );
    assert!(
        first.timings.first_byte_ms.is_some() && first.timings.body_ms.is_some(),
        "{:?}",
        first.timings
    );
    assert_eq!(first.timings.tls_ms, None);
    for _ in 0..3 {
        let next = post(&sender, &url).await;
        assert_eq!(
            (
                next.timings.dns_ms,
                next.timings.connect_ms,
                next.timings.tls_ms
            ),
            (None, None, None)
        );
        assert!(next.timings.first_byte_ms.is_some());
        assert_eq!(response(next).status, 200);
    }
    assert_eq!((receiver.connections(), receiver.requests().len()), (1, 4));
    assert_eq!(names.questions("hooks.example.com"), 1);
}

#[tokio::test]
async fn a_body_of_16_kib_leaves_the_connection_usable() {
    let receiver = Receiver::start(|mut guest| async move {
        let body = "x".repeat(16 * 1024);
        while guest.request().await.is_some() {
            guest
                .send(
                    format!(
                        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}",
                        body.len()
                    )
                    .as_bytes(),
                )
                .await;
        }
    })
    .await;
    let sender = local_sender();
    for _ in 0..3 {
        assert_eq!(
            response(post(&sender, &receiver.url("/")).await).body,
            "x".repeat(KEPT_BODY_BYTES)
        );
    }
    assert_eq!(receiver.connections(), 1);
}

#[tokio::test]
async fn a_receiver_that_responds_early_still_gets_the_whole_request() {
    const BODY_BYTES: usize = 32 << 20;
    let (whole, mut was_whole) = tokio::sync::mpsc::channel(1);
    let receiver = Receiver::start_at(SocketAddr::from(([127, 0, 0, 1], 0)), move |mut guest| {
        let whole = whole.clone();
        async move {
            // Part of the head: the body does not fit into the buffers of the sockets.
            let mut bytes = vec![0; 64];
            guest.stream.read_exact(&mut bytes).await.unwrap();
            guest.send(OK.as_bytes()).await;
            while bytes.len() < BODY_BYTES {
                assert!(guest.stream.read_buf(&mut bytes).await.unwrap() > 0);
            }
            whole.send(()).await.unwrap();
            guest.until_closed().await;
        }
    })
    .await;
    let sender = local_sender();
    response(post_long(&sender, &receiver.url("/"), BODY_BYTES).await);
    let waited = timeout(Duration::from_secs(60), was_whole.recv()).await;
    assert_eq!(waited.expect("the rest of the request is sent"), Some(()));
}

#[tokio::test]
async fn idle_connections_are_closed_without_another_request() {
    let (closed, mut was_closed) = tokio::sync::mpsc::channel(1);
    let receiver = Receiver::start_at(SocketAddr::from(([127, 0, 0, 1], 0)), move |mut guest| {
        let closed = closed.clone();
        async move {
            while guest.request().await.is_some() {
                guest.send(OK.as_bytes()).await;
            }
            closed.send(()).await.unwrap();
        }
    })
    .await;
    let sender = local_sender();
    response(post(&sender, &receiver.url("/")).await);
    // From here on the clock jumps to the next timer whenever nothing else is left to do.
    tokio::time::pause();
    let waited = timeout(Duration::from_secs(60), was_closed.recv()).await;
    assert_eq!(
        waited.expect("idle connections are dropped within 60 s"),
        Some(())
    );
}

#[tokio::test]
async fn a_receiver_that_closes_after_each_response_gets_a_new_connection_each_time() {
    let receiver =
        Receiver::answering("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok")
            .await;
    let sender = local_sender();
    for _ in 0..3 {
        assert_eq!(response(post(&sender, &receiver.url("/")).await).body, "ok");
    }
    assert_eq!(receiver.connections(), 3);
}

#[tokio::test]
async fn concurrent_requests_are_each_sent_once() {
    let receiver = Receiver::answering(OK).await;
    let (sender, url) = (Arc::new(local_sender()), receiver.url("/"));
    let mut posts = JoinSet::new();
    for _ in 0..20 {
        let (sender, url) = (Arc::clone(&sender), url.clone());
        posts.spawn(async move { response(post(&sender, &url).await).status });
    }
    assert_eq!(posts.join_all().await, [200; 20]);
    assert_eq!(receiver.requests().len(), 20);
}

#[tokio::test]
async fn ipv6_literals_work_and_appear_in_the_host_header() {
    let loopback = SocketAddr::from((Ipv6Addr::LOCALHOST, 0));
    let receiver = Receiver::start_at(loopback, |mut guest| async move {
        while guest.request().await.is_some() {
            guest.send(OK.as_bytes()).await;
        }
    })
    .await;
    let sender = HttpSender::new(settings(&["::1/128"])).unwrap();
    assert_eq!(
        response(post(&sender, &receiver.url("/")).await).status,
        200
    );
    assert!(receiver.requests()[0].contains(&format!("host: [::1]:{}\r\n", receiver.addr.port())));
}

#[tokio::test]
async fn a_closed_port_refuses_the_connection() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    drop(listener);
    let outcome = post(&local_sender(), &format!("http://{addr}/?token=s3cret")).await;
    assert!(
        outcome.timings.connect_ms.is_some() && outcome.timings.first_byte_ms.is_none(),
        "{:?}",
        outcome.timings
    );
    let failure = failed(outcome, FailureKind::Connect, Phase::Connect);
    assert_eq!(failure.detail, format!("{addr} refused the connection"));
}

#[tokio::test]
async fn a_host_that_swallows_packets_is_a_timeout_while_connecting() {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let full = socket.listen(1).unwrap();
    let addr = full.local_addr().unwrap();
    // Nothing accepts connections: once the queue is full, the kernel drops new ones.
    let mut queued = Vec::new();
    while let Ok(stream) = timeout(Duration::from_millis(300), TcpStream::connect(addr)).await {
        queued.push(stream.unwrap());
    }
    let sender = hasty_sender(settings(&["127.0.0.1/32"]));
    let outcome = post_briefly(&sender, &format!("http://{addr}/")).await;
    assert!(
        outcome.timings.connect_ms.is_some_and(|ms| ms > 0),
        "{:?}",
        outcome.timings
    );
    failed(outcome, FailureKind::Timeout, Phase::Connect);
}

#[tokio::test]
async fn the_next_address_is_tried_when_one_refuses() {
    let names = Names::start().await;
    names.set(
        "two.example.com",
        Answer::Addresses(ips(&["::1", "127.0.0.1"])),
    );
    let receiver = Receiver::start_at(
        SocketAddr::from((Ipv6Addr::LOCALHOST, 0)),
        |mut guest| async move {
            while guest.request().await.is_some() {
                guest.send(OK.as_bytes()).await;
            }
        },
    )
    .await;
    let settings = SenderSettings {
        name_servers: Some(vec![names.addr]),
        ..settings(&["::1/128", "127.0.0.1/32"])
    };
    let sender = HttpSender::new(settings).unwrap();
    let url = format!("http://two.example.com:{}/", receiver.addr.port());
    assert_eq!(response(post(&sender, &url).await).status, 200);
}

proptest! {
    #[test]
    fn every_url_that_the_rules_accept_can_be_sent(path in "[ -~ü]{0,40}", query in "[ -~ü]{0,40}") {
        if let Ok(url) = Rules::default().check_url(&format!("https://example.com/{path}?{query}")) {
            let uri = http::Uri::try_from(url.as_str());
            prop_assert!(uri.is_ok(), "{}", url);
            prop_assert_eq!(uri.unwrap().to_string(), url.to_string());
        }
    }
}
