//! The HTTP server: limits time and connections, and finishes requests in flight on shutdown.
//!
//! A crate of its own so that it is built for speed: every publish runs through it, and the command around it is built for size.

mod slots;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::clock::Clock;
use postrider_web::recognised::Recognised;
use tokio::net::{TcpListener, TcpStream};
use tokio_io_timeout::TimeoutStream;
use tracing::{debug, warn};

use self::slots::{Slot, Slots};

/// How long a client may take to send the head of a request, including the next one on its connection.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long shutdown waits for requests in flight.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);
/// How long to wait after a failed accept, such as when the process is out of file descriptors.
const ACCEPT_PAUSE: Millis = Millis::new(100);

/// How often a refused connection is logged.
const SAY_AGAIN: Millis = Millis::from_seconds(60);

/// Limits on clients.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionLimits {
    /// Maximum number of open connections. Further clients take the place of strangers, or wait until one closes.
    pub connections: usize,
    /// Maximum number of strangers' connections per address.
    pub per_address: usize,
    /// How long a client may read nothing while a response is ready.
    pub write_timeout: Duration,
}

impl ConnectionLimits {
    /// More than the maximum number of streams.
    pub const CONNECTIONS: usize = 512;
    pub const PER_ADDRESS: usize = 128;
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            connections: Self::CONNECTIONS,
            per_address: Self::PER_ADDRESS,
            write_timeout: Duration::from_secs(30),
        }
    }
}

/// Serves until `stop` resolves, then accepts no more connections, finishes the requests in flight and returns the result
/// of `stop`.
pub async fn serve<T>(
    listener: TcpListener,
    router: Router,
    limits: ConnectionLimits,
    clock: &dyn Clock,
    stop: impl Future<Output = T>,
) -> T {
    let graceful = GracefulShutdown::new();
    let slots = Slots::new(limits.connections, limits.per_address);
    let mut refused = Refused::default();
    let mut stop = std::pin::pin!(stop);
    let stopped = loop {
        tokio::select! {
            biased;
            stopped = &mut stop => break stopped,
            accepted = next(&listener, &slots, clock) => match accepted {
                Ok(Some((stream, slot))) => {
                    let connection = Connection { stream, router: router.clone(), slot };
                    connection.spawn(limits.write_timeout, &slots, &graceful);
                }
                Ok(None) => refused.warn(clock.now()),
                Err(error) => {
                    warn!(event = "server.accept_failed", %error, "a connection could not be accepted");
                    clock.sleep_until(clock.now().plus(ACCEPT_PAUSE)).await;
                }
            },
        }
    };
    drop(listener);
    if tokio::time::timeout(DRAIN_TIMEOUT, graceful.shutdown())
        .await
        .is_err()
    {
        warn!(
            event = "server.drain_timed_out",
            "requests in flight did not finish in time"
        );
    }
    stopped
}

/// Says that connections are refused, now and then.
#[derive(Default)]
struct Refused {
    said_at: Option<Timestamp>,
}

impl Refused {
    fn warn(&mut self, now: Timestamp) {
        let is_due = self
            .said_at
            .is_none_or(|at| at > now || now.since(at) >= SAY_AGAIN);
        if is_due {
            self.said_at = Some(now);
            warn!(
                event = "server.connection_refused",
                "an address has too many connections; see POSTRIDER_CONNECTIONS_PER_ADDRESS"
            );
        }
    }
}

/// Accepts the next connection once there is a place for it; `None` for one that was closed at once.
async fn next(
    listener: &TcpListener,
    slots: &Arc<Slots>,
    clock: &dyn Clock,
) -> std::io::Result<Option<(TcpStream, Slot)>> {
    let (stream, peer) = listener.accept().await?;
    let slot = slots.admit(peer.ip(), || clock.now()).await;
    Ok(slot.map(|slot| (stream, slot)))
}

struct Connection {
    stream: TcpStream,
    router: Router,
    slot: Slot,
}

impl Connection {
    fn spawn(self, write_timeout: Duration, slots: &Slots, graceful: &GracefulShutdown) {
        if let Err(error) = self.stream.set_nodelay(true) {
            debug!(event = "server.nodelay_failed", %error, "TCP_NODELAY could not be set");
        }
        let mut stream = TimeoutStream::new(self.stream);
        stream.set_write_timeout(Some(write_timeout));
        let service = Marked {
            inner: TowerToHyperService::new(self.router),
            mark: self.slot.mark.clone(),
        };
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADER_TIMEOUT)
            .serve_connection(TokioIo::new(Box::pin(stream)), service);
        let (watched, slot) = (graceful.watch(connection), self.slot);
        let id = slot.id();
        let task = tokio::spawn(async move {
            if let Err(error) = watched.await {
                debug!(event = "server.connection_ended", %error, "a connection ended with an error");
            }
            drop(slot);
        });
        Slot::served_by(slots, id, task.abort_handle());
    }
}

/// Gives each request the mark of its connection.
struct Marked {
    inner: TowerToHyperService<Router>,
    mark: Recognised,
}

impl Service<Request<Incoming>> for Marked {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = <TowerToHyperService<Router> as Service<Request<Incoming>>>::Future;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        request.extensions_mut().insert(self.mark.clone());
        self.inner.call(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::routing::get;
    use postrider_adapter_system::SystemClock;
    use std::net::SocketAddr;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    /// Far longer than any step takes.
    const PATIENCE: Duration = Duration::from_secs(30);
    const KNOWN: &[u8] = b"GET /known HTTP/1.1\r\nHost: here\r\n\r\n";
    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n";

    /// Serves a response of this size.
    async fn serving(size: usize, limits: ConnectionLimits) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new()
            .route("/", get(move || async move { vec![b'x'; size] }))
            .route("/known", get(greet));
        let never = std::future::pending::<()>();
        tokio::spawn(serve(listener, router, limits, &SystemClock, never));
        address
    }

    async fn greet(request: axum::extract::Request) -> &'static str {
        Recognised::mark(request.extensions());
        "hello"
    }

    async fn ask(address: SocketAddr) -> TcpStream {
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(REQUEST).await.unwrap();
        client
    }

    async fn answer(client: &mut TcpStream) -> String {
        let mut bytes = [0; 1024];
        let read = tokio::time::timeout(PATIENCE, client.read(&mut bytes)).await;
        String::from_utf8_lossy(&bytes[..read.unwrap().unwrap()]).into_owned()
    }

    /// Sockets that are connected and say nothing.
    async fn silent(address: SocketAddr, count: usize) -> Vec<TcpStream> {
        let mut sockets = Vec::new();
        for _ in 0..count {
            sockets.push(TcpStream::connect(address).await.unwrap());
        }
        sockets
    }

    #[tokio::test]
    async fn silent_strangers_do_not_shut_out_others() {
        let limits = ConnectionLimits {
            connections: 4,
            ..ConnectionLimits::default()
        };
        let address = serving(2, limits).await;
        let _silent = silent(address, 12).await;
        let mut client = ask(address).await;
        assert!(answer(&mut client).await.starts_with("HTTP/1.1 200"));
    }

    #[tokio::test]
    async fn a_known_caller_keeps_its_connection() {
        let limits = ConnectionLimits {
            connections: 2,
            ..ConnectionLimits::default()
        };
        let address = serving(2, limits).await;
        let mut known = TcpStream::connect(address).await.unwrap();
        known.write_all(KNOWN).await.unwrap();
        assert!(answer(&mut known).await.starts_with("HTTP/1.1 200"));
        let _silent = silent(address, 6).await;
        let mut stranger = ask(address).await;
        assert!(answer(&mut stranger).await.starts_with("HTTP/1.1 200"));
        known.write_all(KNOWN).await.unwrap();
        assert!(answer(&mut known).await.starts_with("HTTP/1.1 200"));
    }

    #[tokio::test]
    async fn a_client_that_reads_nothing_loses_its_connection() {
        let limits = ConnectionLimits {
            connections: 1,
            write_timeout: Duration::from_millis(100),
            ..ConnectionLimits::default()
        };
        // More than the socket buffers hold.
        let address = serving(64 << 20, limits).await;
        let _idle = ask(address).await;
        let mut next = ask(address).await;
        assert!(answer(&mut next).await.starts_with("HTTP/1.1 200"));
    }
}
