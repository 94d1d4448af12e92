//! A TCP relay to a gateway, which can be cut and routed to another one.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

pub(super) struct Relay {
    pub(super) url: String,
    to: Arc<Mutex<Option<String>>>,
    passing: Arc<Mutex<JoinSet<()>>>,
    accepting: JoinHandle<()>,
}

impl Relay {
    pub(super) async fn to(url: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let here = format!("http://{}", listener.local_addr().unwrap());
        let to = Arc::new(Mutex::new(None));
        let passing = Arc::new(Mutex::new(JoinSet::new()));
        let (target, tasks) = (Arc::clone(&to), Arc::clone(&passing));
        let accepting = tokio::spawn(async move {
            while let Ok((mut from, _)) = listener.accept().await {
                // Closes the connection immediately while there is no target.
                let Some(address) = target.lock().clone() else {
                    continue;
                };
                tasks.lock().spawn(async move {
                    if let Ok(mut to) = TcpStream::connect(address).await {
                        let _ = tokio::io::copy_bidirectional(&mut from, &mut to).await;
                    }
                });
            }
        });
        let relay = Self {
            url: here,
            to,
            passing,
            accepting,
        };
        relay.route_to(url);
        relay
    }

    /// Routes new connections to this URL.
    pub(super) fn route_to(&self, url: &str) {
        let address = url.trim_start_matches("http://").trim_end_matches('/');
        *self.to.lock() = Some(address.to_owned());
    }

    /// Breaks every connection, and accepts none until there is a target again.
    pub(super) fn cut(&self) {
        *self.to.lock() = None;
        self.passing.lock().abort_all();
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}
