//! Receivers of every temper, on one loopback port.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use http::{StatusCode, header};
use parking_lot::Mutex;
use postrider_domain::time::Timestamp;
use tokio::net::TcpListener;

use crate::edge;

/// What the rate limiting receiver takes per second.
const TAKES_PER_SECOND: u32 = 4;

/// Where the receivers are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Receivers {
    address: SocketAddr,
    /// Nothing listens here.
    closed: SocketAddr,
}

impl Receivers {
    pub(super) fn url(self, path: &str) -> String {
        format!("http://{}/{path}", self.address)
    }

    pub(super) fn closed_url(self, path: &str) -> String {
        format!("http://{}/{path}", self.closed)
    }
}

#[derive(Default)]
struct Memory {
    /// Requests to the flaky one.
    flaky: AtomicU64,
    /// The second, and how many were taken in it.
    taken: Mutex<(i64, u32)>,
}

pub(super) async fn start() -> anyhow::Result<Receivers> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    // A port that was free a moment ago refuses connections.
    let closed = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .await?
        .local_addr()?;
    let router = Router::new()
        .route("/orders", post(well))
        .route("/analytics", post(slow))
        .route("/crm", post(flaky))
        .route("/chat", post(rate_limited))
        .route("/billing", post(broken))
        .with_state(Arc::new(Memory::default()));
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(Receivers { address, closed })
}

async fn well() -> Response {
    edge::pause(Duration::from_millis(15)).await;
    (StatusCode::OK, "stored\n").into_response()
}

async fn slow() -> Response {
    edge::pause(Duration::from_millis(2_500)).await;
    (StatusCode::ACCEPTED, "queued\n").into_response()
}

/// Every fourth request fails, in one of three ways.
async fn flaky(State(memory): State<Arc<Memory>>) -> Response {
    let n = memory.flaky.fetch_add(1, Ordering::Relaxed);
    match n % 12 {
        3 => (
            StatusCode::SERVICE_UNAVAILABLE,
            "deploying, back in a moment\n",
        )
            .into_response(),
        7 => (StatusCode::INTERNAL_SERVER_ERROR, "deadlock detected\n").into_response(),
        11 => (StatusCode::BAD_GATEWAY, "upstream sent no response\n").into_response(),
        _ => (StatusCode::OK, "{\"ok\":true}\n").into_response(),
    }
}

async fn rate_limited(State(memory): State<Arc<Memory>>) -> Response {
    if memory.takes_one_more(edge::now()) {
        return (StatusCode::OK, "posted\n").into_response();
    }
    (
        StatusCode::TOO_MANY_REQUESTS,
        [(header::RETRY_AFTER, "2")],
        "slow down\n",
    )
        .into_response()
}

async fn broken() -> Response {
    (StatusCode::INTERNAL_SERVER_ERROR, "database is down\n").into_response()
}

impl Memory {
    fn takes_one_more(&self, now: Timestamp) -> bool {
        let mut taken = self.taken.lock();
        if taken.0 != now.as_seconds() {
            *taken = (now.as_seconds(), 0);
        }
        taken.1 += 1;
        taken.1 <= TAKES_PER_SECOND
    }
}
