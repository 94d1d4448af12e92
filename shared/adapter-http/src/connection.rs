//! A connection to a receiver that limits how much is read.

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker, ready};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use crate::body::{BodyStart, Ending};
use crate::failure::MAX_HEAD_BYTES;

/// How much may be read for one response: its head, the part of its body that is read, and what was read ahead. Nothing
/// else stops a flood of 1xx responses.
pub(crate) const READ_ALLOWANCE: usize = 256 * 1024;

/// The stream of a connection, plain or TLS.
pub(crate) struct LimitedStream {
    stream: Stream,
    allowance: Allowance,
}

pub(crate) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// How much may still be read.
#[derive(Clone)]
struct Allowance(Arc<AtomicUsize>);

/// The receiver sent more than one response may have.
#[derive(Debug, thiserror::Error)]
#[error("received more than {} KiB without a complete response", READ_ALLOWANCE / 1024)]
pub(crate) struct TooMuch;

impl Allowance {
    fn spend(&self, bytes: usize) -> Result<(), TooMuch> {
        let spent = |left: usize| left.checked_sub(bytes);
        let within = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, spent);
        within.map(drop).map_err(|_| TooMuch)
    }

    /// Resets it after a complete response.
    fn renew(&self) {
        self.0.store(READ_ALLOWANCE, Ordering::Relaxed);
    }
}

type Http = http1::Connection<TokioIo<LimitedStream>, Full<Bytes>>;

/// A connection that carries one request after the other. The attempt that uses it also drives it: a task of its own would have
/// to be woken for each request, and would have to wake the attempt for each response.
pub(crate) struct Connection {
    requests: SendRequest<Full<Bytes>>,
    /// `None` once it has ended.
    http: Option<Pin<Box<Http>>>,
    allowance: Allowance,
}

impl Connection {
    pub(crate) async fn over(stream: Stream) -> hyper::Result<Self> {
        let allowance = Allowance(Arc::new(AtomicUsize::new(READ_ALLOWANCE)));
        let limited = LimitedStream {
            stream,
            allowance: allowance.clone(),
        };
        let (requests, http) = http1::Builder::new()
            .max_buf_size(MAX_HEAD_BYTES)
            .handshake(TokioIo::new(limited))
            .await?;
        Ok(Self {
            requests,
            http: Some(Box::pin(http)),
            allowance,
        })
    }

    /// Sends a request, and returns the head of its response.
    pub(crate) async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> hyper::Result<Response<Incoming>> {
        let response = self.requests.send_request(request);
        drive(&mut self.http, response).await
    }

    /// Reads the start of a response body.
    pub(crate) async fn read(&mut self, body: Incoming, into: &mut BodyStart) -> Ending {
        let ending = drive(&mut self.http, into.read(body)).await;
        if ending == Ending::Complete {
            self.allowance.renew();
        }
        ending
    }

    /// Whether another request can be sent, as far as is known now.
    pub(crate) fn is_ready(&mut self) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        poll_once(&mut self.http, &mut context);
        self.http.is_some() && self.requests.is_ready()
    }

    /// Waits until another request can be sent; `false` if that will never be so.
    pub(crate) async fn ready(&mut self) -> bool {
        drive(&mut self.http, self.requests.ready()).await.is_ok()
    }
}

/// Drives a connection until `work`, which waits for it, is done.
async fn drive<T>(http: &mut Option<Pin<Box<Http>>>, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    poll_fn(|context| {
        poll_once(http, context);
        work.as_mut().poll(context)
    })
    .await
}

/// How a connection ended is also told to the request that it carried.
fn poll_once(http: &mut Option<Pin<Box<Http>>>, context: &mut Context<'_>) {
    if let Some(running) = http
        && running.as_mut().poll(context).is_ready()
    {
        *http = None;
    }
}

impl AsyncRead for LimitedStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let limited = self.get_mut();
        let before = buf.filled().len();
        ready!(match &mut limited.stream {
            Stream::Plain(tcp) => Pin::new(tcp).poll_read(cx, buf),
            Stream::Tls(tls) => Pin::new(tls).poll_read(cx, buf),
        })?;
        let came = buf.filled().len() - before;
        Poll::Ready(limited.allowance.spend(came).map_err(io::Error::other))
    }
}

impl AsyncWrite for LimitedStream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.get_mut().stream {
            Stream::Plain(tcp) => Pin::new(tcp).poll_write(cx, buf),
            Stream::Tls(tls) => Pin::new(tls).poll_write(cx, buf),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.get_mut().stream {
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
        match &mut self.get_mut().stream {
            Stream::Plain(tcp) => Pin::new(tcp).poll_flush(cx),
            Stream::Tls(tls) => Pin::new(tls).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().stream {
            Stream::Plain(tcp) => Pin::new(tcp).poll_shutdown(cx),
            Stream::Tls(tls) => Pin::new(tls).poll_shutdown(cx),
        }
    }
}
