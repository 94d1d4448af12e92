//! A name server that knows no names.

use std::net::{Ipv4Addr, SocketAddr};

use tokio::net::UdpSocket;
use tokio::task::JoinHandle;

/// Ended when dropped.
pub(super) struct NameServer {
    pub(super) address: SocketAddr,
    task: JoinHandle<()>,
}

impl NameServer {
    pub(super) async fn start() -> Self {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        Self {
            address: socket.local_addr().unwrap(),
            task: tokio::spawn(serve(socket)),
        }
    }
}

impl Drop for NameServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Returns each question as a response with the code NXDOMAIN and without records (RFC 1035, section 4.1.1).
async fn serve(socket: UdpSocket) {
    let mut message = [0; 512];
    while let Ok((size, from)) = socket.recv_from(&mut message).await {
        if let Some(header) = message.first_chunk_mut::<12>() {
            [header[2], header[3]] = [0x81, 0x83];
            header[6..].fill(0);
        }
        let _ = socket.send_to(&message[..size], from).await;
    }
}
