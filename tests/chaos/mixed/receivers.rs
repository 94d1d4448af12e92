//! Receivers that fail, hang, limit and recover, with their own list of what arrived.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};

/// Longer than the timeout of any webhook here. A receiver that never answered would keep its connections forever.
const HANGS_FOR: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Behaviour {
    Works,
    Fails,
    Hangs,
    Limits,
}

/// A request that arrived.
#[derive(Clone, Debug)]
pub(super) struct Arrival {
    pub(super) delivery: String,
    pub(super) is_accepted: bool,
}

#[derive(Default)]
struct Shared {
    behaviours: Mutex<Vec<Behaviour>>,
    arrivals: Mutex<Vec<Arrival>>,
    /// In which life of the gateway each request in flight began.
    in_flight: Mutex<HashMap<String, usize>>,
    overlaps: Mutex<Vec<String>>,
    life: AtomicUsize,
}

/// One server for the receivers of all webhooks: each has a path of its own.
pub(super) struct Receivers {
    shared: Arc<Shared>,
    port: u16,
    accepting: JoinHandle<()>,
}

impl Receivers {
    pub(super) async fn start(count: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared::default());
        *shared.behaviours.lock() = vec![Behaviour::Works; count];
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Self {
            shared,
            port,
            accepting,
        }
    }

    pub(super) fn url(&self, number: usize) -> String {
        format!("http://127.0.0.1:{}/{number}", self.port)
    }

    pub(super) fn set(&self, number: usize, behaviour: Behaviour) {
        self.shared.behaviours.lock()[number] = behaviour;
    }

    /// The gateway starts again: its requests of before are gone.
    pub(super) fn begin_life(&self) {
        self.shared.life.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn life(&self) -> usize {
        self.shared.life.load(Ordering::Relaxed)
    }

    pub(super) fn arrivals(&self) -> Vec<Arrival> {
        self.shared.arrivals.lock().clone()
    }

    /// Deliveries with two requests at once from the same process.
    pub(super) fn overlaps(&self) -> Vec<String> {
        self.shared.overlaps.lock().clone()
    }
}

impl Drop for Receivers {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let shared = Arc::clone(&shared);
        connections.spawn(async move {
            let service = service_fn(move |request| respond(request, Arc::clone(&shared)));
            // Errors are ignored: a killed gateway closes its connections at any point.
            let _ = http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

/// A request in flight; it ends with its answer or its connection.
struct InFlight {
    shared: Arc<Shared>,
    delivery: String,
}

impl InFlight {
    fn begin(shared: Arc<Shared>, delivery: String) -> Self {
        let life = shared.life.load(Ordering::Relaxed);
        let before = shared.in_flight.lock().insert(delivery.clone(), life);
        if before == Some(life) {
            shared.overlaps.lock().push(delivery.clone());
        }
        Self { shared, delivery }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.shared.in_flight.lock().remove(&self.delivery);
    }
}

async fn respond(
    request: Request<Incoming>,
    shared: Arc<Shared>,
) -> Result<Response<Empty<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let id = head.headers.get("webhook-id");
    // A probe of a failed webhook has an id of its own.
    let delivery = id.map_or("", |id| id.to_str().unwrap()).to_owned();
    let _in_flight = InFlight::begin(Arc::clone(&shared), delivery.clone());
    let answer = |status: u16| {
        let response = Response::builder().status(status);
        let response = if status == 429 {
            response.header("retry-after", "1")
        } else {
            response
        };
        Ok(response.body(Empty::new()).unwrap())
    };
    if body.collect().await.is_err() {
        // Its sender is gone.
        return answer(400);
    }
    let number: usize = head.uri.path().trim_matches('/').parse().unwrap();
    let behaviour = shared.behaviours.lock()[number];
    shared.arrivals.lock().push(Arrival {
        delivery,
        is_accepted: behaviour == Behaviour::Works,
    });
    match behaviour {
        Behaviour::Works => answer(200),
        Behaviour::Fails => answer(500),
        Behaviour::Limits => answer(429),
        Behaviour::Hangs => {
            let _ = tokio::time::timeout(HANGS_FOR, std::future::pending::<()>()).await;
            answer(500)
        }
    }
}
