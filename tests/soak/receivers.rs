//! Receivers that count what arrives, and how late it is.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::net::TcpListener;

use crate::numbers::Numbers;

pub(crate) const RECEIVERS: usize = 8;
/// Those that are bad from time to time, and what they do then.
pub(crate) const TROUBLED: [(usize, Behaviour); 2] = [(6, Behaviour::Fails), (7, Behaviour::Hangs)];
const HANGS_FOR: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behaviour {
    Works,
    Fails,
    Hangs,
}

pub(crate) struct Receivers {
    port: u16,
    behaviours: Mutex<[Behaviour; RECEIVERS]>,
    requests: AtomicU64,
    arrived: Mutex<Numbers>,
    /// Of first requests to healthy receivers since the last sample, in microseconds.
    latenesses: Mutex<Vec<u64>>,
}

pub(crate) fn now_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    u64::try_from(since.as_micros()).unwrap()
}

impl Receivers {
    pub(crate) async fn start() -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let receivers = Arc::new(Self {
            port: listener.local_addr().unwrap().port(),
            behaviours: Mutex::new([Behaviour::Works; RECEIVERS]),
            requests: AtomicU64::new(0),
            arrived: Mutex::default(),
            latenesses: Mutex::default(),
        });
        tokio::spawn(accept(listener, Arc::clone(&receivers)));
        receivers
    }

    pub(crate) fn url(&self, number: usize) -> String {
        format!("http://127.0.0.1:{}/{number}", self.port)
    }

    pub(crate) fn set(&self, number: usize, behaviour: Behaviour) {
        self.behaviours.lock()[number] = behaviour;
    }

    pub(crate) fn set_all(&self, behaviour: Behaviour) {
        *self.behaviours.lock() = [behaviour; RECEIVERS];
    }

    pub(crate) fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// The lateness that 99 of 100 deliveries since the last call did not exceed, in milliseconds.
    pub(crate) fn take_p99_ms(&self) -> f64 {
        let mut all = std::mem::take(&mut *self.latenesses.lock());
        all.sort_unstable();
        let place = all.len() * 99 / 100;
        all.get(place).copied().unwrap_or_default() as f64 / 1000.0
    }

    /// How many of these are not accepted when no request has come for so long. A backlog may take longer than that: its rate
    /// is limited.
    pub(crate) async fn missing_after(&self, acknowledged: &Numbers, silence: Duration) -> u64 {
        let (mut requests, mut since) = (self.requests(), Instant::now());
        loop {
            let missing = acknowledged.without(&self.arrived.lock());
            if missing == 0 || since.elapsed() > silence {
                return missing;
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
            if self.requests() > requests {
                (requests, since) = (self.requests(), Instant::now());
            }
        }
    }

    async fn respond(
        &self,
        request: Request<Incoming>,
    ) -> Result<Response<Empty<Bytes>>, Infallible> {
        let answer = |status: u16| {
            let response = Response::builder().status(status);
            Ok(response.body(Empty::new()).unwrap())
        };
        let number: usize = request.uri().path().trim_matches('/').parse().unwrap();
        let Ok(body) = request.into_body().collect().await else {
            return answer(400);
        };
        self.requests.fetch_add(1, Ordering::Relaxed);
        let behaviour = self.behaviours.lock()[number];
        match behaviour {
            Behaviour::Works => {
                let (event, sent): (u64, u64) = serde_json::from_slice(&body.to_bytes()).unwrap();
                let is_new = self.arrived.lock().insert(event);
                if is_new && TROUBLED.iter().all(|(troubled, _)| *troubled != number) {
                    self.latenesses.lock().push(now_us().saturating_sub(sent));
                }
                answer(200)
            }
            Behaviour::Fails => answer(503),
            Behaviour::Hangs => {
                tokio::time::sleep(HANGS_FOR).await;
                answer(503)
            }
        }
    }
}

async fn accept(listener: TcpListener, receivers: Arc<Receivers>) {
    while let Ok((stream, _)) = listener.accept().await {
        stream.set_nodelay(true).unwrap();
        let receivers = Arc::clone(&receivers);
        let service = service_fn(move |request| {
            let receivers = Arc::clone(&receivers);
            async move { receivers.respond(request).await }
        });
        // Errors are ignored: a sender may disconnect at any time.
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}
