//! The HTTP server: limits time and connections, and finishes requests in flight on shutdown.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_io_timeout::TimeoutStream;
use tracing::{debug, warn};

/// How long a client may take to send the head of a request, including the next one on its connection.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long shutdown waits for requests in flight.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);
/// How long to wait after a failed accept, such as when the process is out of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Limits on clients.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Maximum number of open connections. Further clients wait until one closes.
    pub(crate) connections: usize,
    /// How long a client may read nothing while a response is ready.
    pub(crate) write_timeout: Duration,
}

impl Limits {
    /// More than the maximum number of streams.
    pub(crate) const CONNECTIONS: usize = 512;
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: Self::CONNECTIONS,
            write_timeout: Duration::from_secs(30),
        }
    }
}

/// Serves until `stop` resolves, then accepts no more connections, finishes the requests in flight and returns the result
/// of `stop`.
pub(crate) async fn serve<T>(
    listener: TcpListener,
    router: Router,
    limits: Limits,
    stop: impl Future<Output = T>,
) -> T {
    let graceful = GracefulShutdown::new();
    let slots = Arc::new(Semaphore::new(limits.connections));
    let mut stop = std::pin::pin!(stop);
    let stopped = loop {
        tokio::select! {
            biased;
            stopped = &mut stop => break stopped,
            accepted = next(&listener, &slots) => match accepted {
                Ok((stream, slot)) => {
                    let connection = Connection { stream, router: router.clone(), slot };
                    connection.spawn(limits.write_timeout, &graceful);
                }
                Err(error) => {
                    warn!(event = "server.accept_failed", %error, "a connection could not be accepted");
                    crate::edge::pause(ACCEPT_PAUSE).await;
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

/// Accepts the next connection once a slot is free.
async fn next(
    listener: &TcpListener,
    slots: &Arc<Semaphore>,
) -> std::io::Result<(TcpStream, OwnedSemaphorePermit)> {
    let slot = Arc::clone(slots).acquire_owned().await;
    let slot = slot.map_err(std::io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    Ok((stream, slot))
}

struct Connection {
    stream: TcpStream,
    router: Router,
    slot: OwnedSemaphorePermit,
}

impl Connection {
    fn spawn(self, write_timeout: Duration, graceful: &GracefulShutdown) {
        if let Err(error) = self.stream.set_nodelay(true) {
            debug!(event = "server.nodelay_failed", %error, "TCP_NODELAY could not be set");
        }
        let mut stream = TimeoutStream::new(self.stream);
        stream.set_write_timeout(Some(write_timeout));
        let service = TowerToHyperService::new(self.router);
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADER_TIMEOUT)
            .serve_connection(TokioIo::new(Box::pin(stream)), service);
        let (watched, slot) = (graceful.watch(connection), self.slot);
        tokio::spawn(async move {
            if let Err(error) = watched.await {
                debug!(event = "server.connection_ended", %error, "a connection ended with an error");
            }
            drop(slot);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::routing::get;
    use std::net::SocketAddr;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    /// Far longer than any step takes.
    const PATIENCE: Duration = Duration::from_secs(30);
    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n";

    /// Serves a response of this size.
    async fn serving(size: usize, limits: Limits) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().route("/", get(move || async move { vec![b'x'; size] }));
        tokio::spawn(serve(
            listener,
            router,
            limits,
            std::future::pending::<()>(),
        ));
        address
    }

    async fn ask(address: SocketAddr) -> TcpStream {
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(REQUEST).await.unwrap();
        client
    }

    async fn answer(client: &mut TcpStream) -> String {
        let mut bytes = [0; 64];
        let read = tokio::time::timeout(PATIENCE, client.read(&mut bytes)).await;
        String::from_utf8_lossy(&bytes[..read.unwrap().unwrap()]).into_owned()
    }

    #[tokio::test]
    async fn a_client_over_the_connection_limit_waits_for_a_free_slot() {
        let limits = Limits {
            connections: 2,
            ..Limits::default()
        };
        let address = serving(2, limits).await;
        let (mut first, mut second) = (ask(address).await, ask(address).await);
        assert!(answer(&mut first).await.starts_with("HTTP/1.1 200"));
        assert!(answer(&mut second).await.starts_with("HTTP/1.1 200"));
        let mut third = ask(address).await;
        let early = tokio::time::timeout(Duration::from_millis(200), answer(&mut third)).await;
        assert!(early.is_err(), "no slot is free");
        drop(first);
        assert!(answer(&mut third).await.starts_with("HTTP/1.1 200"));
    }

    #[tokio::test]
    async fn a_client_that_reads_nothing_loses_its_connection() {
        let limits = Limits {
            connections: 1,
            write_timeout: Duration::from_millis(100),
        };
        // More than the socket buffers hold.
        let address = serving(64 << 20, limits).await;
        let _idle = ask(address).await;
        let mut next = ask(address).await;
        assert!(answer(&mut next).await.starts_with("HTTP/1.1 200"));
    }
}
