//! A real HTTP receiver on loopback with configurable responses.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio::sync::watch;

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct Received {
    pub path: String,
    pub query: Option<String>,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Received {
    /// A header as text; empty if it is missing.
    #[must_use]
    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }
}

/// A response of the receiver.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    /// Name and value of each header.
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Answer {
    /// A status without headers and body.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: String::new(),
        }
    }

    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    #[must_use]
    pub fn body(mut self, body: &str) -> Self {
        self.body = body.to_owned();
        self
    }
}

struct Shared {
    usual: Mutex<Answer>,
    next: Mutex<VecDeque<Answer>>,
    requests: Mutex<Vec<Received>>,
    count: watch::Sender<usize>,
    open: watch::Sender<bool>,
}

/// Stops when it is dropped.
pub struct Receiver {
    shared: Arc<Shared>,
    port: u16,
    accepting: tokio::task::JoinHandle<()>,
}

impl Receiver {
    /// Starts one on a free port of 127.0.0.1 that responds with 200.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let shared = Arc::new(Shared {
            usual: Mutex::new(Answer::status(200)),
            next: Mutex::default(),
            requests: Mutex::default(),
            count: watch::Sender::new(0),
            open: watch::Sender::new(true),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Self {
            shared,
            port,
            accepting,
        }
    }

    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/hook", self.port)
    }

    /// Sets the response to every request.
    pub fn answer(&self, answer: Answer) {
        *self.shared.usual.lock() = answer;
    }

    /// Sets the responses to the next requests, one each.
    pub fn answer_next(&self, answers: impl IntoIterator<Item = Answer>) {
        self.shared.next.lock().extend(answers);
    }

    /// Accepts requests but does not respond until [`Self::open`].
    pub fn hold(&self) {
        self.shared.open.send_replace(false);
    }

    /// Responds to the requests on hold and to new ones.
    pub fn open(&self) {
        self.shared.open.send_replace(true);
    }

    /// The requests so far.
    #[must_use]
    pub fn requests(&self) -> Vec<Received> {
        self.shared.requests.lock().clone()
    }

    /// Removes and returns the requests since the last call.
    #[must_use]
    pub fn take_requests(&self) -> Vec<Received> {
        std::mem::take(&mut *self.shared.requests.lock())
    }

    /// Returns when another request arrives.
    ///
    /// # Panics
    /// When the receiver has stopped.
    pub async fn next_request(&self) {
        let mut arrived = self.shared.count.subscribe();
        arrived.changed().await.expect("the receiver runs");
    }

    /// Returns when `count` requests have arrived.
    pub async fn received(&self, count: usize) -> Vec<Received> {
        let mut arrived = self.shared.count.subscribe();
        arrived
            .wait_for(|n| *n >= count)
            .await
            .expect("the receiver runs");
        self.requests()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let shared = Arc::clone(&shared);
        connections.spawn(async move {
            let service = service_fn(move |request| respond(request, Arc::clone(&shared)));
            // Errors are ignored: a sender may close the connection at any time.
            let _ = http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn respond(
    request: Request<Incoming>,
    shared: Arc<Shared>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let body = body
        .collect()
        .await
        .map(http_body_util::Collected::to_bytes)
        .unwrap_or_default();
    let path = head.uri.path().to_owned();
    let query = head.uri.query().map(str::to_owned);
    shared.requests.lock().push(Received {
        path,
        query,
        headers: head.headers,
        body,
    });
    shared.count.send_modify(|count| *count += 1);
    let _ = shared.open.subscribe().wait_for(|open| *open).await;
    let answer = shared
        .next
        .lock()
        .pop_front()
        .unwrap_or_else(|| shared.usual.lock().clone());
    let mut response = Response::builder().status(answer.status);
    for (name, value) in &answer.headers {
        response = response.header(name, value);
    }
    Ok(response
        .body(Full::new(answer.body.into()))
        .expect("a valid answer"))
}
