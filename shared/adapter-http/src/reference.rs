//! A service that is reached whenever the gateway's network works. A receiver that does not answer is only to blame if this
//! service does.

use std::time::{Duration, Instant};

use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio::time::timeout;
use url::Url;

use crate::dialling::now;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// How long an answer counts. Many attempts may fail at once.
const FRESH_FOR: Duration = Duration::from_secs(5);

pub(crate) struct Reference {
    /// Host and port.
    address: String,
    /// Locked while it is asked, so that attempts that fail together ask once.
    last: Mutex<Option<(Instant, bool)>>,
}

impl Reference {
    /// The service of this URL; `None` if it names no host.
    pub(crate) fn of(url: &Url) -> Option<Self> {
        let (host, port) = (url.host_str()?, url.port_or_known_default()?);
        Some(Self {
            address: format!("{host}:{port}"),
            last: Mutex::default(),
        })
    }

    pub(crate) async fn is_reached(&self) -> bool {
        let mut last = self.last.lock().await;
        if let Some((at, is_reached)) = *last
            && now().saturating_duration_since(at) < FRESH_FOR
        {
            return is_reached;
        }
        let connected = timeout(CONNECT_TIMEOUT, TcpStream::connect(&self.address)).await;
        let is_reached = matches!(connected, Ok(Ok(_)));
        *last = Some((now(), is_reached));
        is_reached
    }
}
