//! Connections that wait for their next request.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, interval, timeout};

use crate::connection::Connection;
use crate::limits::now;

/// How long an idle connection is kept: less than the five seconds after which Node.js and other servers close theirs,
/// so that a request does not hit a connection that is being closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(4);

/// Idle connections, by the origin of their URLs.
pub(crate) struct Pool {
    max_per_origin: usize,
    idle: Arc<Mutex<Idle>>,
}

#[derive(Default)]
struct Idle {
    by_origin: HashMap<String, Vec<Waiting>>,
    /// Whether a task closes connections that are not used for long. There is none while no connection is idle.
    is_swept: bool,
}

struct Waiting {
    connection: Connection,
    since: Instant,
}

impl Waiting {
    fn is_fresh(&self) -> bool {
        now().saturating_duration_since(self.since) < IDLE_TIMEOUT
    }
}

impl Pool {
    pub(crate) fn new(max_per_origin: usize) -> Self {
        Self {
            max_per_origin,
            idle: Arc::default(),
        }
    }

    /// The connection to this origin that was used last, if it can still be used.
    pub(crate) fn take(&self, origin: &str) -> Option<Connection> {
        loop {
            let mut waiting = self.idle.lock().by_origin.get_mut(origin)?.pop()?;
            if waiting.is_fresh() && waiting.connection.is_ready() {
                return Some(waiting.connection);
            }
        }
    }

    /// Keeps a connection whose response was read to its end.
    pub(crate) fn put(&self, origin: &str, mut connection: Connection) {
        if connection.is_ready() {
            keep(&self.idle, self.max_per_origin, origin, connection);
            return;
        }
        // The receiver answered before it had read the whole request.
        let (idle, origin) = (Arc::clone(&self.idle), origin.to_owned());
        let max_per_origin = self.max_per_origin;
        tokio::spawn(async move {
            if let Ok(true) = timeout(IDLE_TIMEOUT, connection.ready()).await {
                keep(&idle, max_per_origin, &origin, connection);
            }
        });
    }
}

fn keep(idle: &Arc<Mutex<Idle>>, max_per_origin: usize, origin: &str, connection: Connection) {
    let mut idle_now = idle.lock();
    let waiting = match idle_now.by_origin.get_mut(origin) {
        Some(waiting) => waiting,
        None => idle_now.by_origin.entry(origin.to_owned()).or_default(),
    };
    if waiting.len() >= max_per_origin {
        return;
    }
    waiting.push(Waiting {
        connection,
        since: now(),
    });
    if !std::mem::replace(&mut idle_now.is_swept, true) {
        tokio::spawn(sweep(Arc::downgrade(idle)));
    }
}

/// Closes connections that are not used, until none is left.
async fn sweep(idle: Weak<Mutex<Idle>>) {
    let mut rounds = interval(IDLE_TIMEOUT);
    rounds.tick().await;
    loop {
        rounds.tick().await;
        let Some(idle) = idle.upgrade() else {
            return;
        };
        let mut old = Vec::new();
        let mut idle = idle.lock();
        idle.by_origin.retain(|_, waiting| {
            // Those that were used last are at the end.
            let first_fresh = waiting.partition_point(|one| !one.is_fresh());
            old.extend(waiting.drain(..first_fresh));
            !waiting.is_empty()
        });
        if idle.by_origin.is_empty() {
            idle.is_swept = false;
            return;
        }
        drop(idle);
        // Closed without the lock.
        drop(old);
    }
}
