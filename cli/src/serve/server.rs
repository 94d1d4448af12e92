//! The HTTP server: bounded in time and in connections, and finishes what it has begun when told to stop.

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

/// How long a client may take to send the head of a request, also of the next one on its connection.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long requests under way are waited for.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);
/// How long to wait when no further connection can be taken, such as when the process is out of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What strangers may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// How many connections are held at once. Whoever comes when all are taken waits until one ends.
    pub(crate) connections: usize,
    /// How long a client may read nothing of an answer that is ready.
    pub(crate) write_timeout: Duration,
}

impl Default for Limits {
    /// Half of what a process may usually open, and more than there may be streams.
    fn default() -> Self {
        Self {
            connections: 512,
            write_timeout: Duration::from_secs(30),
        }
    }
}

/// Serves until `stop`, then takes no more connections, finishes the requests under way and returns what it said.
pub(crate) async fn serve<T>(
    listener: TcpListener,
    router: Router,
    limits: Limits,
    stop: impl Future<Output = T>,
) -> T {
    let graceful = GracefulShutdown::new();
    let places = Arc::new(Semaphore::new(limits.connections));
    let mut stop = std::pin::pin!(stop);
    let said = loop {
        tokio::select! {
            biased;
            said = &mut stop => break said,
            accepted = next(&listener, &places) => match accepted {
                Ok((stream, place)) => {
                    let connection = Connection { stream, router: router.clone(), place };
                    connection.spawn(limits.write_timeout, &graceful);
                }
                Err(error) => {
                    warn!(%error, "server.accept_failed");
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
        warn!("server.drain_timed_out");
    }
    said
}

/// The next connection, when there is a place for it.
async fn next(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> std::io::Result<(TcpStream, OwnedSemaphorePermit)> {
    let place = Arc::clone(places).acquire_owned().await;
    let place = place.map_err(std::io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    Ok((stream, place))
}

struct Connection {
    stream: TcpStream,
    router: Router,
    place: OwnedSemaphorePermit,
}

impl Connection {
    fn spawn(self, write_timeout: Duration, graceful: &GracefulShutdown) {
        if let Err(error) = self.stream.set_nodelay(true) {
            debug!(%error, "server.nodelay_failed");
        }
        let mut stream = TimeoutStream::new(self.stream);
        stream.set_write_timeout(Some(write_timeout));
        let service = TowerToHyperService::new(self.router);
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADER_TIMEOUT)
            .serve_connection(TokioIo::new(Box::pin(stream)), service);
        let (watched, place) = (graceful.watch(connection), self.place);
        tokio::spawn(async move {
            if let Err(error) = watched.await {
                debug!(%error, "server.connection_ended");
            }
            drop(place);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::routing::get;
    use std::net::SocketAddr;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    /// Far longer than any of this takes.
    const PATIENCE: Duration = Duration::from_secs(30);
    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n";

    /// Serves an answer of this size.
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
    async fn whoever_comes_when_all_places_are_taken_waits_until_one_is_free() {
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
        assert!(early.is_err(), "there is no place");
        drop(first);
        assert!(answer(&mut third).await.starts_with("HTTP/1.1 200"));
    }

    #[tokio::test]
    async fn a_client_that_reads_nothing_loses_its_connection() {
        let limits = Limits {
            connections: 1,
            write_timeout: Duration::from_millis(100),
        };
        // More than the buffers between the two hold.
        let address = serving(64 << 20, limits).await;
        let _idle = ask(address).await;
        let mut next = ask(address).await;
        assert!(answer(&mut next).await.starts_with("HTTP/1.1 200"));
    }
}
