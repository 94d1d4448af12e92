//! Publishers: each has one connection and waits for the response before it sends the next event.

use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use postrider_tests::command::TOKEN;
use tokio::net::TcpStream;
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinSet;

use crate::message;
use crate::plan::CONNECTIONS;
use crate::samples::Samples;

/// One publisher's connection.
struct Connection {
    to: SocketAddr,
    requests: SendRequest<Full<Bytes>>,
}

impl Connection {
    async fn open(to: SocketAddr) -> Self {
        let stream = TcpStream::connect(to).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let (requests, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        Self { to, requests }
    }

    /// Publishes and waits for the complete response.
    async fn publish(&mut self, event: Bytes) {
        let request = Request::post("/v1/events")
            .header("host", self.to.to_string())
            .header("authorization", format!("Bearer {TOKEN}"))
            .header("content-type", "application/json")
            .body(Full::new(event))
            .unwrap();
        self.requests.ready().await.unwrap();
        let response = self.requests.send_request(request).await.unwrap();
        let status = response.status();
        let answer = response.into_body().collect().await.unwrap().to_bytes();
        let said = String::from_utf8_lossy(&answer);
        assert_eq!(status, StatusCode::ACCEPTED, "{said}");
    }
}

/// Publishes requests as fast as they are accepted; returns how long each took. `request` makes the body of the `n`-th.
pub(crate) async fn flat_out(
    to: SocketAddr,
    requests: Range<u64>,
    request: impl Fn(u64) -> Bytes + Clone + Send + 'static,
) -> Samples {
    let next = Arc::new(AtomicU64::new(requests.start));
    let mut publishers = JoinSet::new();
    for _ in 0..CONNECTIONS {
        let (next, request) = (Arc::clone(&next), request.clone());
        publishers.spawn(async move {
            let mut connection = Connection::open(to).await;
            let mut times = Samples::default();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= requests.end {
                    return times;
                }
                let event = request(number);
                let began = Instant::now();
                connection.publish(event).await;
                times.since(began);
            }
        });
    }
    merged(publishers).await
}

/// A message whose time has come.
struct Ticket {
    number: u64,
    at: u64,
    due: Instant,
}

/// The result of publishing at a steady rate.
pub(crate) struct Paced {
    /// From when a message was scheduled to its response, including the wait for a free connection.
    pub(crate) accept: Samples,
    /// How many messages were published.
    pub(crate) messages: u64,
}

/// Publishes `rate` messages per second, for the webhooks in turn.
pub(crate) async fn paced(
    to: SocketAddr,
    webhooks: &[String],
    rate: u64,
    lasting: Duration,
) -> Paced {
    let messages = rate * lasting.as_secs();
    let (tickets, queue) = mpsc::unbounded_channel();
    let queue = Arc::new(Mutex::new(queue));
    let mut publishers = JoinSet::new();
    for _ in 0..CONNECTIONS {
        let mut connection = Connection::open(to).await;
        let (queue, webhooks) = (Arc::clone(&queue), webhooks.to_owned());
        publishers.spawn(async move {
            let mut times = Samples::default();
            loop {
                let ticket = queue.lock().await.recv().await;
                let Some(Ticket { number, at, due }) = ticket else {
                    return times;
                };
                let webhook = &webhooks[number as usize % webhooks.len()];
                connection
                    .publish(message::event(webhook, number, at))
                    .await;
                times.since(due);
            }
        });
    }
    // On its own thread, because the runtime's timer counts in whole milliseconds.
    let pacing = tokio::task::spawn_blocking(move || {
        let (began, step) = (Instant::now(), Duration::from_secs(1) / rate as u32);
        for number in 0..messages {
            let due = began + step * number as u32;
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            let (at, due) = (message::now(), Instant::now());
            let _ = tickets.send(Ticket { number, at, due });
        }
    });
    pacing.await.unwrap();
    let accept = merged(publishers).await;
    Paced { accept, messages }
}

async fn merged(publishers: JoinSet<Samples>) -> Samples {
    let mut all = Samples::default();
    for times in publishers.join_all().await {
        all.append(times);
    }
    all
}
