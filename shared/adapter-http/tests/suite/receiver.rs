//! Receivers that answer, misbehave or attack, byte by byte.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;

/// A receiver on its own port; every connection gets the same behaviour.
pub(crate) struct Receiver {
    pub(crate) addr: SocketAddr,
    seen: Arc<Seen>,
    _tasks: JoinSet<()>,
}

#[derive(Default)]
struct Seen {
    connections: AtomicUsize,
    sent_bytes: AtomicUsize,
    requests: Mutex<Vec<String>>,
}

/// One connection to a receiver.
pub(crate) struct Guest {
    pub(crate) stream: TcpStream,
    seen: Arc<Seen>,
}

impl Receiver {
    pub(crate) async fn start<F>(behaviour: fn(Guest) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Self::start_at(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), behaviour).await
    }

    pub(crate) async fn start_at<F, B>(addr: SocketAddr, behaviour: B) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
        B: Fn(Guest) -> F + Send + 'static,
    {
        let socket = if addr.is_ipv4() {
            TcpSocket::new_v4()
        } else {
            TcpSocket::new_v6()
        }
        .unwrap();
        // Small, so that the bytes written are about the bytes read.
        socket.set_send_buffer_size(16 * 1024).unwrap();
        socket.bind(addr).unwrap();
        let listener = socket.listen(64).unwrap();
        let addr = listener.local_addr().unwrap();
        let seen = Arc::new(Seen::default());
        let mut tasks = JoinSet::new();
        let all_seen = Arc::clone(&seen);
        tasks.spawn(async move {
            let mut guests = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                all_seen.connections.fetch_add(1, Ordering::SeqCst);
                guests.spawn(behaviour(Guest {
                    stream,
                    seen: Arc::clone(&all_seen),
                }));
            }
        });
        Self {
            addr,
            seen,
            _tasks: tasks,
        }
    }

    /// Answers every request with the same bytes and keeps the connection open.
    pub(crate) async fn answering(answer: &'static str) -> Self {
        let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Self::start_at(addr, move |mut guest| async move {
            while guest.request().await.is_some() {
                guest.send(answer.as_bytes()).await;
            }
        })
        .await
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.addr)
    }

    pub(crate) fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::SeqCst)
    }

    pub(crate) fn sent_bytes(&self) -> usize {
        self.seen.sent_bytes.load(Ordering::SeqCst)
    }

    /// The requests, each with head and body.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.seen.requests.lock().unwrap().clone()
    }
}

impl Guest {
    /// The next complete request, or `None` once the sender has closed the connection.
    pub(crate) async fn request(&mut self) -> Option<String> {
        let mut bytes = Vec::new();
        loop {
            if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
                let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
                let length = head
                    .lines()
                    .find_map(|line| line.strip_prefix("content-length: "));
                let length: usize = length.map_or(0, |text| text.parse().unwrap());
                if bytes.len() >= end + 4 + length {
                    let request = String::from_utf8_lossy(&bytes).into_owned();
                    self.seen.requests.lock().unwrap().push(request.clone());
                    return Some(request);
                }
            }
            if self.stream.read_buf(&mut bytes).await.unwrap_or(0) == 0 {
                return None;
            }
        }
    }

    /// Whether the bytes could be sent.
    pub(crate) async fn send(&mut self, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            match self.stream.write(bytes).await {
                Ok(sent) if sent > 0 => {
                    self.seen.sent_bytes.fetch_add(sent, Ordering::SeqCst);
                    bytes = &bytes[sent..];
                }
                _ => return false,
            }
        }
        true
    }

    /// Sends the same bytes over and over until the sender closes.
    pub(crate) async fn flood(&mut self, bytes: &[u8]) {
        while self.send(bytes).await {}
    }

    pub(crate) async fn until_closed(&mut self) {
        let mut rest = [0; 1024];
        while self.stream.read(&mut rest).await.is_ok_and(|read| read > 0) {}
    }

    /// Resets the connection instead of closing it.
    pub(crate) fn reset(self) {
        self.stream.set_zero_linger().unwrap();
    }
}
