//! The HTTP server: bounded in time, and finishes what it has begun when told to stop.

use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tracing::{debug, warn};

/// How long a client may take to send the head of a request.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long requests under way are waited for.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);
/// How long to wait when no further connection can be taken, such as when the process is out of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves until `stop`, then takes no more connections, finishes the requests under way and returns what it said.
pub(crate) async fn serve<T>(
    listener: TcpListener,
    router: Router,
    stop: impl Future<Output = T>,
) -> T {
    let graceful = GracefulShutdown::new();
    let mut stop = std::pin::pin!(stop);
    let said = loop {
        tokio::select! {
            biased;
            said = &mut stop => break said,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => connection(stream, router.clone(), &graceful),
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

fn connection(stream: TcpStream, router: Router, graceful: &GracefulShutdown) {
    if let Err(error) = stream.set_nodelay(true) {
        debug!(%error, "server.nodelay_failed");
    }
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let watched = graceful.watch(connection);
    tokio::spawn(async move {
        if let Err(error) = watched.await {
            debug!(%error, "server.connection_ended");
        }
    });
}
