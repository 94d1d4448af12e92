//! Hostile receivers: each attempt ends in time, uses little memory and reports its reason.

use std::time::Duration;

use postrider_domain::outcome::{Answer, FailureKind, KEPT_BODY_BYTES, Outcome, Phase};
use tokio::time::{MissedTickBehavior, interval};

use crate::receiver::{Guest, Receiver};
use crate::sending::{failed, local_sender, post, post_briefly, response};

/// The most a hostile receiver may have sent; most of it fills the kernel's buffers.
const MAX_READ: usize = 1024 * 1024;

async fn attacked_by<F>(behaviour: fn(Guest) -> F) -> Outcome
where
    F: Future<Output = ()> + Send + 'static,
{
    let receiver = Receiver::start(behaviour).await;
    let outcome = post(&local_sender(), &receiver.url("/hook?token=s3cret")).await;
    check_harm(&receiver, &outcome);
    outcome
}

/// For receivers that let the attempt time out.
async fn stalled_by<F>(behaviour: fn(Guest) -> F) -> Outcome
where
    F: Future<Output = ()> + Send + 'static,
{
    let receiver = Receiver::start(behaviour).await;
    let outcome = post_briefly(&local_sender(), &receiver.url("/hook?token=s3cret")).await;
    check_harm(&receiver, &outcome);
    outcome
}

#[track_caller]
fn check_harm(receiver: &Receiver, outcome: &Outcome) {
    assert!(
        receiver.sent_bytes() <= MAX_READ,
        "{} bytes were read",
        receiver.sent_bytes()
    );
    assert_eq!(receiver.connections(), 1, "no request is repeated");
    assert!(!format!("{outcome:?}").contains("s3cret"));
}

async fn one_by_one(guest: &mut Guest, bytes: impl IntoIterator<Item = u8>) {
    let mut ticks = interval(Duration::from_millis(30));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for byte in bytes {
        ticks.tick().await;
        if !guest.send(&[byte]).await {
            return;
        }
    }
}

#[tokio::test]
async fn nothing_after_accept() {
    let outcome = stalled_by(|mut guest| async move { guest.until_closed().await }).await;
    assert!(outcome.timings.connect_ms.is_some() && outcome.timings.first_byte_ms.is_some());
    let failure = failed(outcome, FailureKind::Timeout, Phase::FirstByte);
    assert_eq!(failure.detail, "no response arrived within 1s");
}

#[tokio::test]
async fn one_byte_of_headers_at_a_time() {
    let outcome = stalled_by(|mut guest| async move {
        guest.request().await;
        let endless = "HTTP/1.1 200 OK\r\nx: "
            .bytes()
            .chain(std::iter::repeat(b'y'));
        one_by_one(&mut guest, endless).await;
    });
    failed(outcome.await, FailureKind::Timeout, Phase::FirstByte);
}

#[tokio::test]
async fn one_byte_of_body_at_a_time() {
    let outcome = stalled_by(|mut guest| async move {
        guest.request().await;
        guest
            .send(b"HTTP/1.1 202 OK\r\ncontent-length: 100000\r\n\r\nstart")
            .await;
        one_by_one(&mut guest, std::iter::repeat(b'y')).await;
    })
    .await;
    assert!(outcome.timings.body_ms.is_some_and(|ms| ms > 0));
    let answer = response(outcome);
    assert_eq!(answer.status, 202, "only the status line decides");
    assert!(answer.body.starts_with("start"), "{}", answer.body);
}

#[tokio::test]
async fn endless_chunks() {
    let outcome = attacked_by(|mut guest| async move {
        guest.request().await;
        guest
            .send(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
            .await;
        guest
            .flood(format!("400\r\n{}\r\n", "z".repeat(0x400)).as_bytes())
            .await;
    });
    assert_eq!(response(outcome.await).body, "z".repeat(KEPT_BODY_BYTES));
}

#[tokio::test]
async fn endless_tiny_chunks() {
    let outcome = attacked_by(|mut guest| async move {
        guest.request().await;
        guest
            .send(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
            .await;
        let padded = format!("1;{}\r\nz\r\n", "p".repeat(4000));
        guest.flood(padded.as_bytes()).await;
    });
    assert_eq!(response(outcome.await).status, 200);
}

#[tokio::test]
async fn endless_trailers() {
    let outcome = attacked_by(|mut guest| async move {
        guest.request().await;
        guest
            .send(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n")
            .await;
        guest
            .flood(format!("x-trailer: {}\r\n", "t".repeat(500)).as_bytes())
            .await;
    });
    assert_eq!(response(outcome.await).status, 200);
}

#[tokio::test]
async fn ten_gigabytes_declared_and_sent() {
    let outcome = attacked_by(|mut guest| async move {
        guest.request().await;
        guest
            .send(b"HTTP/1.1 500 Oh\r\ncontent-length: 10737418240\r\n\r\n")
            .await;
        guest.flood(&[b'g'; 8192]).await;
    });
    let answer = response(outcome.await);
    assert_eq!((answer.status, answer.body.len()), (500, KEPT_BODY_BYTES));
}

#[tokio::test]
async fn a_body_that_ends_only_with_the_connection() {
    let outcome = attacked_by(|mut guest| async move {
        guest.request().await;
        guest.send(b"HTTP/1.0 200 OK\r\n\r\n").await;
        guest.flood(&[b'e'; 8192]).await;
    });
    assert_eq!(response(outcome.await).body, "e".repeat(KEPT_BODY_BYTES));
}

#[tokio::test]
async fn a_gzip_bomb_is_not_decoded() {
    let outcome = attacked_by(|mut guest| async move {
        let request = guest.request().await.unwrap();
        assert!(!request.contains("accept-encoding"));
        // The first bytes of ten gigabytes of zeros.
        let mut bomb =
            b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xec\xc1\x01\x01\x00\x00\x00\x80\x90\xfe"
                .to_vec();
        bomb.resize(10_000, 0);
        guest
            .send(b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 10000\r\n\r\n")
            .await;
        guest.send(&bomb).await;
        guest.until_closed().await;
    });
    let answer = response(outcome.await);
    assert!(
        answer.body.starts_with("\u{1f}\u{fffd}\u{8}"),
        "not decoded"
    );
    assert!(answer.body.len() <= KEPT_BODY_BYTES);
}

#[tokio::test]
async fn a_header_of_a_megabyte() {
    let outcome = attacked_by(|mut guest| async move {
        guest.request().await;
        guest.send(b"HTTP/1.1 200 OK\r\nx-large: ").await;
        guest.flood(&[b'h'; 8192]).await;
    });
    let failure = failed(outcome.await, FailureKind::Malformed, Phase::FirstByte);
    assert!(failure.detail.contains("64 KiB"), "{}", failure.detail);
}

#[tokio::test]
async fn ten_thousand_headers() {
    let outcome = attacked_by(|mut guest| async move {
        guest.request().await;
        guest.send(b"HTTP/1.1 200 OK\r\n").await;
        for number in 0..10_000 {
            if !guest.send(format!("x-{number}: 1\r\n").as_bytes()).await {
                return;
            }
        }
        guest.send(b"content-length: 0\r\n\r\n").await;
        guest.until_closed().await;
    });
    failed(outcome.await, FailureKind::Malformed, Phase::FirstByte);
}

#[tokio::test]
async fn a_flood_of_1xx() {
    let outcome = attacked_by(|mut guest| async move {
        guest.request().await;
        guest
            .flood(&b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n".repeat(100))
            .await;
    });
    let failure = failed(outcome.await, FailureKind::Malformed, Phase::FirstByte);
    assert_eq!(
        failure.detail,
        "received more than 256 KiB without a complete response"
    );
}

#[tokio::test]
async fn a_few_1xx_before_the_response_are_skipped() {
    let outcome = attacked_by(|mut guest| async move {
        guest.request().await;
        guest
            .send(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n")
            .await;
        guest
            .send(b"HTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n")
            .await;
        guest.until_closed().await;
    });
    assert_eq!(response(outcome.await).status, 201);
}

#[tokio::test]
async fn a_protocol_switch_is_not_followed() {
    let outcome = attacked_by(|mut guest| async move {
        guest.request().await;
        guest.send(b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n").await;
        guest.flood(&[0; 4096]).await;
    });
    assert_eq!(response(outcome.await).status, 101);
}

#[tokio::test]
async fn a_reset_in_the_middle_of_the_body() {
    let outcome = attacked_by(|mut guest| async move {
        guest.request().await;
        guest
            .send(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n")
            .await;
        guest.send(b"half").await;
        guest.reset();
    });
    assert_eq!(response(outcome.await).status, 200);
}

#[tokio::test]
async fn a_reset_instead_of_a_response() {
    let outcome = attacked_by(|mut guest| async move {
        guest.request().await;
        guest.reset();
    });
    failed(outcome.await, FailureKind::Reset, Phase::FirstByte);
}

#[tokio::test]
async fn a_close_instead_of_a_response_or_within_the_headers() {
    let outcome = attacked_by(|mut guest| async move {
        guest.request().await;
    });
    failed(outcome.await, FailureKind::Reset, Phase::FirstByte);
    let outcome = attacked_by(|mut guest| async move {
        guest.request().await;
        guest.send(b"HTTP/1.1 200 OK\r\ncontent-le").await;
    });
    failed(outcome.await, FailureKind::Reset, Phase::FirstByte);
}

#[tokio::test]
async fn http_0_9_and_other_invalid_responses() {
    let outcome = attacked_by(|mut guest| async move {
        guest.request().await;
        guest.send(b"<html>hello</html>\r\n\r\n").await;
    });
    failed(outcome.await, FailureKind::Malformed, Phase::FirstByte);
    let outcome = attacked_by(|mut guest| async move {
        guest.request().await;
        guest.send(b"HTTP/2.0 200 OK\r\n\r\n").await;
    });
    failed(outcome.await, FailureKind::Malformed, Phase::FirstByte);
    let outcome = attacked_by(|mut guest| async move {
        guest.request().await;
        guest.send(b"HTTP/1.1 2000 OK\r\n\r\n").await;
    });
    failed(outcome.await, FailureKind::Malformed, Phase::FirstByte);
    let outcome = attacked_by(|mut guest| async move {
        guest.request().await;
        guest
            .send(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab")
            .await;
    });
    failed(outcome.await, FailureKind::Malformed, Phase::FirstByte);
    let outcome = attacked_by(|mut guest| async move {
        guest.request().await;
        guest.flood(&[0xff; 4096]).await;
    });
    failed(outcome.await, FailureKind::Malformed, Phase::FirstByte);
}

#[tokio::test]
async fn invalid_chunks_after_a_valid_status_line() {
    let outcome = attacked_by(|mut guest| async move {
        guest.request().await;
        guest
            .send(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\nZZZZ\r\n")
            .await;
        guest.until_closed().await;
    });
    assert_eq!(response(outcome.await).body, "ok");
}

#[tokio::test]
async fn invalid_utf8_is_replaced() {
    let outcome = attacked_by(|mut guest| async move {
        guest.request().await;
        guest
            .send(b"HTTP/1.1 400 Bad\r\ncontent-length: 7\r\n\r\nbad\xff\xfe!!")
            .await;
        guest.until_closed().await;
    });
    assert_eq!(response(outcome.await).body, "bad\u{fffd}\u{fffd}!!");
}

#[tokio::test]
async fn data_after_a_204_or_unrequested_is_not_the_next_response() {
    for answer in [
        "HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 500 Smuggled\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 204 No Content\r\ncontent-length: 9\r\n\r\nunwelcome",
        "HTTP/1.1 204 OK\r\ncontent-length: 0\r\n\r\nHTTP/1.1 500 Unasked\r\ncontent-length: 0\r\n\r\n",
    ] {
        let receiver = Receiver::answering(answer).await;
        let sender = local_sender();
        for _ in 0..5 {
            assert_eq!(
                response(post(&sender, &receiver.url("/")).await).status,
                204,
                "{answer:?}"
            );
        }
        assert_eq!(receiver.requests().len(), 5);
    }
}

#[tokio::test]
async fn a_receiver_that_speaks_first() {
    let receiver = Receiver::start(|mut guest| async move {
        guest.send(b"SSH-2.0-OpenSSH_9.6\r\n").await;
        guest.until_closed().await;
    })
    .await;
    let outcome = post(&local_sender(), &receiver.url("/")).await;
    let Answer::Failed(failure) = outcome.result else {
        panic!("accepted as a response: {outcome:?}")
    };
    // Which of the two depends on timing.
    assert!(
        matches!(failure.kind, FailureKind::Reset | FailureKind::Malformed),
        "{failure:?}"
    );
    assert_eq!(failure.phase, Phase::FirstByte);
}
