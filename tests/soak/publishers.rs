//! Publishers, at a steady rate or as fast as they are answered.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use postrider_tests::command::{Serve, TOKEN};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::numbers::Numbers;
use crate::receivers::now_us;

const PUBLISHERS: usize = 16;
const RETRY: Duration = Duration::from_millis(50);

/// The times at which events are due.
#[derive(Clone, Copy)]
struct Pace {
    since: Instant,
    first: u64,
    rate: Option<f64>,
}

struct Shared {
    to: Mutex<SocketAddr>,
    webhooks: Vec<String>,
    pace: Mutex<Pace>,
    next: AtomicU64,
    is_over: AtomicBool,
    acknowledged: Mutex<Numbers>,
}

pub(crate) struct Publishers {
    shared: Arc<Shared>,
    tasks: JoinSet<()>,
}

fn address(gateway: &Serve) -> SocketAddr {
    let url = gateway.url.trim_start_matches("http://");
    url.parse().unwrap()
}

impl Publishers {
    pub(crate) fn start(gateway: &Serve, webhooks: Vec<String>) -> Self {
        let pace = Pace {
            since: Instant::now(),
            first: 0,
            rate: None,
        };
        let shared = Arc::new(Shared {
            to: Mutex::new(address(gateway)),
            webhooks,
            pace: Mutex::new(pace),
            next: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            acknowledged: Mutex::default(),
        });
        let mut tasks = JoinSet::new();
        for _ in 0..PUBLISHERS {
            tasks.spawn(Arc::clone(&shared).publish());
        }
        Self { shared, tasks }
    }

    /// `None` to publish as fast as possible.
    pub(crate) fn set_rate(&self, rate: Option<f64>) {
        *self.shared.pace.lock() = Pace {
            since: Instant::now(),
            first: self.shared.next.load(Ordering::Relaxed),
            rate,
        };
    }

    /// The gateway has started again.
    pub(crate) fn go_to(&self, gateway: &Serve) {
        *self.shared.to.lock() = address(gateway);
    }

    /// Returns what was acknowledged.
    pub(crate) async fn stop(mut self) -> Numbers {
        self.shared.is_over.store(true, Ordering::Relaxed);
        while let Some(ended) = self.tasks.join_next().await {
            ended.unwrap();
        }
        self.shared.acknowledged.lock().clone()
    }
}

impl Shared {
    async fn publish(self: Arc<Self>) {
        let mut connection = None;
        while !self.is_over.load(Ordering::Relaxed) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            self.wait_for(number).await;
            // An event whose answer was lost is not repeated: it may arrive or not.
            if connection.is_none() {
                connection = self.connect().await;
            }
            let Some(requests) = &mut connection else {
                tokio::time::sleep(RETRY).await;
                continue;
            };
            if self.publish_one(requests, number).await.is_none() {
                connection = None;
            }
        }
    }

    async fn wait_for(&self, number: u64) {
        let Pace { since, first, rate } = *self.pace.lock();
        if let Some(rate) = rate {
            let due = number.saturating_sub(first) as f64 / rate;
            let due = since + Duration::from_secs_f64(due);
            tokio::time::sleep_until(due.into()).await;
        }
    }

    async fn connect(&self) -> Option<SendRequest<Full<Bytes>>> {
        let to = *self.to.lock();
        let stream = TcpStream::connect(to).await.ok()?;
        stream.set_nodelay(true).ok()?;
        let (requests, connection) = http1::handshake(TokioIo::new(stream)).await.ok()?;
        tokio::spawn(connection);
        Some(requests)
    }

    async fn publish_one(
        &self,
        requests: &mut SendRequest<Full<Bytes>>,
        number: u64,
    ) -> Option<()> {
        let webhooks = self.webhooks.len() as u64;
        let webhook = &self.webhooks[usize::try_from(number % webhooks).unwrap()];
        let now = now_us();
        let body = format!(
            r#"{{"type":"soak.event","webhook_id":"{webhook}","payload":[{number},{now}]}}"#
        );
        let request = Request::post("/v1/events")
            .header("host", "127.0.0.1")
            .header("authorization", format!("Bearer {TOKEN}"))
            .header("content-type", "application/json")
            .body(Full::new(body.into()))
            .unwrap();
        requests.ready().await.ok()?;
        let response = requests.send_request(request).await.ok()?;
        let status = response.status();
        response.into_body().collect().await.ok()?;
        assert_eq!(status, StatusCode::ACCEPTED);
        self.acknowledged.lock().insert(number);
        Some(())
    }
}
