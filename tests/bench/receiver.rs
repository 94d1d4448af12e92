//! The receiver, in its own process: accepts requests on several ports and records what arrived at each.

use std::convert::Infallible;
use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::message;

/// Ports that respond at once. One more follows that does not, and those that fail some.
pub(crate) const LANES: usize = 10;
/// How long that one takes to respond.
pub(crate) const HANG: Duration = Duration::from_secs(10);
/// How many of a thousand requests each of the last ports answers with 503.
pub(crate) const FLAKY_PER_MILLE: [u64; 4] = [5, 50, 150, 250];

/// What arrived at one port.
#[derive(Default)]
struct Lane {
    seen: Vec<u64>,
    distinct: u64,
    total: u64,
    failed: u64,
    last_new_at: u64,
    /// From publication to the first request for a message, whatever the answer.
    latencies: Vec<u32>,
}

impl Lane {
    fn take(&mut self, body: &[u8], failing_per_mille: u64) -> StatusCode {
        self.total += 1;
        if let Some((number, published_at)) = message::read(body) {
            self.note(number, published_at);
        }
        if spread(self.total) % 1000 < failing_per_mille {
            self.failed += 1;
            StatusCode::SERVICE_UNAVAILABLE
        } else {
            StatusCode::OK
        }
    }

    fn note(&mut self, number: u64, published_at: u64) {
        let (word, bit) = ((number / 64) as usize, 1 << (number % 64));
        if self.seen.len() <= word {
            self.seen.resize(word + 1, 0);
        }
        if self.seen[word] & bit == 0 {
            self.seen[word] |= bit;
            self.distinct += 1;
            self.last_new_at = message::now();
            let latency = self.last_new_at.saturating_sub(published_at);
            self.latencies
                .push(u32::try_from(latency).unwrap_or(u32::MAX));
        }
    }
}

/// `SplitMix64`: as if by chance, and the same in every run.
const fn spread(number: u64) -> u64 {
    let mut z = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)) >> 11
}

type Lanes = Arc<Vec<Mutex<Lane>>>;

/// Prints its ports and serves until standard input ends, which it does however the parent process ends.
#[tokio::main(flavor = "current_thread")]
pub(crate) async fn run() {
    let count = LANES + 1 + FLAKY_PER_MILLE.len();
    let lanes: Lanes = Arc::new((0..count).map(|_| Mutex::default()).collect());
    let mut ports = Vec::new();
    for lane in 0..count {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        ports.push(listener.local_addr().unwrap().port());
        let lanes = Arc::clone(&lanes);
        tokio::spawn(serve(listener, move |request| {
            take(request, Arc::clone(&lanes), lane)
        }));
    }
    let control = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let control_port = control.local_addr().unwrap().port();
    tokio::spawn(serve(control, move |request| {
        answer(request, Arc::clone(&lanes))
    }));
    println!("{}", json!({"lanes": ports, "control": control_port}));
    let ended = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
    ended.await.unwrap().unwrap();
}

async fn serve<S, F>(listener: TcpListener, respond: S)
where
    S: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
    F: Future<Output = Result<Response<Full<Bytes>>, Infallible>> + Send + 'static,
{
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        let service = service_fn(respond.clone());
        // Errors are ignored: a sender may disconnect at any time.
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

async fn take(
    request: Request<Incoming>,
    lanes: Lanes,
    lane: usize,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let flaky = lane.checked_sub(LANES + 1);
    let failing_per_mille = flaky.map_or(0, |place| FLAKY_PER_MILLE[place]);
    let mut response = Response::new(Full::default());
    if let Ok(body) = request.into_body().collect().await {
        *response.status_mut() = lanes[lane].lock().take(&body.to_bytes(), failing_per_mille);
    }
    if lane == LANES {
        tokio::time::sleep(HANG).await;
    }
    Ok(response)
}

async fn answer(
    request: Request<Incoming>,
    lanes: Lanes,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let about = |describe: fn(&Lane) -> Value| {
        let lanes = lanes.iter().map(|lane| describe(&lane.lock()));
        Value::Array(lanes.collect()).to_string()
    };
    let text = match request.uri().path() {
        "/counts" => about(
            |lane| json!({"distinct": lane.distinct, "total": lane.total, "failed": lane.failed, "last_new_at": lane.last_new_at}),
        ),
        "/latencies" => about(|lane| json!(lane.latencies)),
        "/forget" => {
            lanes.iter().for_each(|lane| *lane.lock() = Lane::default());
            String::new()
        }
        other => panic!("unexpected request: {other}"),
    };
    Ok(Response::new(Full::from(text)))
}
