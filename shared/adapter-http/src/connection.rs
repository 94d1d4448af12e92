//! A connection to a receiver that limits how much is read.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use hyper_util::client::legacy::connect::{Connected, Connection};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use crate::dialling::Dialling;

/// How much may be read for one response: its head, the part of its body that is read, and what was read ahead. Nothing
/// else stops a flood of 1xx responses.
pub(crate) const READ_ALLOWANCE: usize = 256 * 1024;

/// A connection, plain or TLS.
pub(crate) struct HttpConnection {
    stream: Stream,
    about: AboutConnection,
}

pub(crate) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// Information about the connection that carried a request, passed on by the client.
#[derive(Clone)]
pub(crate) struct AboutConnection {
    dialled_by: Arc<Dialling>,
    allowance: Arc<AtomicUsize>,
}

/// The receiver sent more than one response may have.
#[derive(Debug, thiserror::Error)]
#[error("received more than {} KiB without a complete response", READ_ALLOWANCE / 1024)]
pub(crate) struct TooMuch;

impl HttpConnection {
    pub(crate) fn new(stream: Stream, dialled_by: Arc<Dialling>) -> Self {
        let allowance = Arc::new(AtomicUsize::new(READ_ALLOWANCE));
        Self {
            stream,
            about: AboutConnection {
                dialled_by,
                allowance,
            },
        }
    }

    fn stream(self: Pin<&mut Self>) -> &mut Stream {
        &mut self.get_mut().stream
    }
}

impl AboutConnection {
    /// Whether the connection was opened for this attempt, not reused.
    pub(crate) fn is_dialled_by(&self, dialling: &Arc<Dialling>) -> bool {
        Arc::ptr_eq(&self.dialled_by, dialling)
    }

    /// Resets the allowance after a complete response.
    pub(crate) fn renew_allowance(&self) {
        self.allowance.store(READ_ALLOWANCE, Ordering::Relaxed);
    }
}

impl Connection for HttpConnection {
    fn connected(&self) -> Connected {
        Connected::new().extra(self.about.clone())
    }
}

impl AsyncRead for HttpConnection {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let connection = self.get_mut();
        let before = buf.filled().len();
        ready!(match &mut connection.stream {
            Stream::Plain(tcp) => Pin::new(tcp).poll_read(cx, buf),
            Stream::Tls(tls) => Pin::new(tls).poll_read(cx, buf),
        })?;
        let came = buf.filled().len() - before;
        let spent = |left: usize| left.checked_sub(came);
        let within =
            connection
                .about
                .allowance
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, spent);
        Poll::Ready(within.map(drop).map_err(|_| io::Error::other(TooMuch)))
    }
}

impl AsyncWrite for HttpConnection {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.stream() {
            Stream::Plain(tcp) => Pin::new(tcp).poll_write(cx, buf),
            Stream::Tls(tls) => Pin::new(tls).poll_write(cx, buf),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.stream() {
            Stream::Plain(tcp) => Pin::new(tcp).poll_write_vectored(cx, bufs),
            Stream::Tls(tls) => Pin::new(tls).poll_write_vectored(cx, bufs),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match &self.stream {
            Stream::Plain(tcp) => tcp.is_write_vectored(),
            Stream::Tls(tls) => tls.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.stream() {
            Stream::Plain(tcp) => Pin::new(tcp).poll_flush(cx),
            Stream::Tls(tls) => Pin::new(tls).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.stream() {
            Stream::Plain(tcp) => Pin::new(tcp).poll_shutdown(cx),
            Stream::Tls(tls) => Pin::new(tls).poll_shutdown(cx),
        }
    }
}
