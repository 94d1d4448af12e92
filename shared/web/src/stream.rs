//! Notifications, live, as server-sent events.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use http::HeaderMap;
use parking_lot::Mutex;
use postrider_api_types::notification::changed_ids;
use postrider_api_types::schema::MAX_POSITION_DIGITS;
use postrider_domain::ids::TenantId;
use postrider_domain::invalid::Invalid;
use postrider_domain::key::{ApiKey, KeyDigest, Scope};
use postrider_domain::time::{Millis, Timestamp};
use postrider_gateway::Gateway;
use postrider_ports::notifications::{NotificationListener, StoredNotification};
use postrider_ports::sessions::SessionId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::problem::{Code, Problem};

/// How many streams may be open at once; each holds a connection and a page of notifications.
const MAX_STREAMS: usize = 256;
/// How many of them the customers of one tenant may have.
const MAX_STREAMS_OF_CUSTOMERS: usize = 16;
pub const LAST_EVENT_ID: &str = "Last-Event-ID";
/// How many notifications one read returns.
const PAGE: usize = 100;
/// How often a quiet stream sends a comment, so that proxies keep it open.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How long a listener waits before it reconnects, if it is answered at once.
const COME_BACK_AFTER: Duration = Duration::from_secs(2);
/// How often the store learns that a tenant has a listener.
const TELL_EVERY: Millis = Millis::from_seconds(30);
/// How often a stream checks whether its key is still valid.
const RECHECK_EVERY: Millis = Millis::from_seconds(30);

/// How a stream ends.
#[derive(Clone)]
pub enum Streaming {
    /// The stream stays open until `shutdown` becomes true or its sender is dropped.
    Open {
        /// Signals new notifications.
        listening: Arc<dyn NotificationListener>,
        /// Signals the end.
        shutdown: watch::Receiver<bool>,
    },
    /// The stream sends new notifications and ends; the client reconnects. For Lambda functions, which are billed per
    /// second.
    Polled,
}

/// The open streams of a process.
pub struct Streams {
    gateway: Arc<Gateway>,
    streaming: Streaming,
    slots: Arc<Semaphore>,
    customers: Arc<CustomerStreams>,
    /// When this process last told the store about the listeners of a tenant.
    told: Mutex<HashMap<TenantId, Timestamp>>,
}

impl Streams {
    #[must_use]
    pub fn new(gateway: Arc<Gateway>, streaming: Streaming) -> Self {
        Self {
            gateway,
            streaming,
            slots: Arc::new(Semaphore::new(MAX_STREAMS)),
            customers: Arc::default(),
            told: Mutex::default(),
        }
    }

    /// Tells the store that the tenant has a listener, every now and then.
    async fn tell_store(&self, tenant: &TenantId) -> Result<(), Problem> {
        let ports = &self.gateway.ports;
        let now = ports.clock.now();
        let is_recent = |at: &Timestamp| *at <= now && now.since(*at) < TELL_EVERY;
        if self.told.lock().get(tenant).is_some_and(is_recent) {
            return Ok(());
        }
        ports.store.listening(tenant, now).await?;
        let mut told = self.told.lock();
        told.retain(|_, at| is_recent(at));
        told.insert(tenant.clone(), now);
        Ok(())
    }
}

/// How many streams the customers of each tenant have open.
#[derive(Default)]
struct CustomerStreams(Mutex<HashMap<TenantId, usize>>);

/// One of them, until it is dropped.
struct CustomerSlot {
    open: Arc<CustomerStreams>,
    tenant: TenantId,
}

impl CustomerSlot {
    fn take(open: &Arc<CustomerStreams>, tenant: &TenantId) -> Result<Self, Problem> {
        let mut counts = open.0.lock();
        let count = counts.entry(tenant.clone()).or_default();
        if *count >= MAX_STREAMS_OF_CUSTOMERS {
            return Err(too_many(MAX_STREAMS_OF_CUSTOMERS));
        }
        *count += 1;
        Ok(Self {
            open: Arc::clone(open),
            tenant: tenant.clone(),
        })
    }
}

impl Drop for CustomerSlot {
    fn drop(&mut self) {
        let mut counts = self.open.0.lock();
        if let Some(count) = counts.get_mut(&self.tenant) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.tenant);
            }
        }
    }
}

fn too_many(limit: usize) -> Problem {
    let detail = format!("at most {limit} streams may be open at once");
    Problem::new(Code::TooManyStreams, detail)
}

/// A session that a stream belongs to.
#[derive(Clone, Copy, Debug)]
pub struct StreamSession {
    pub id: SessionId,
    pub ends_at: Timestamp,
    pub shown: Shown,
}

/// What a stream shows of notifications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    Everything,
    /// Which deliveries and webhooks have changed, and nothing else: for customers, who see neither sources nor the
    /// addresses that errors name.
    Changes,
}

/// Follows the notifications of the key's tenant for as long as the key, and the session if there is one, is valid. A listener
/// that sends no `Last-Event-ID` starts after `after`.
pub async fn follow(
    streams: Arc<Streams>,
    key: &ApiKey,
    after: Option<u64>,
    session: Option<StreamSession>,
    headers: &HeaderMap,
) -> Result<Response, Problem> {
    let last_seen = last_event_id(headers)?.or(after);
    let tenant = key.tenant.clone();
    let shown = session.map_or(Shown::Everything, |session| session.shown);
    let customer_slot = match shown {
        Shown::Everything => None,
        Shown::Changes => Some(CustomerSlot::take(&streams.customers, &tenant)?),
    };
    let slot = Arc::clone(&streams.slots)
        .try_acquire_owned()
        .map_err(|_| too_many(MAX_STREAMS))?;
    streams.tell_store(&tenant).await?;
    let newest = streams
        .gateway
        .ports
        .store
        .newest_notification(&tenant)
        .await?;
    // An id from the future belongs to another database; waiting for it would never end.
    let seq = last_seen.map_or(newest, |seq| seq.min(newest));
    let (listening, shutdown) = match &streams.streaming {
        Streaming::Open {
            listening,
            shutdown,
        } => (Arc::clone(listening), shutdown.clone()),
        Streaming::Polled => return polled(&streams, &tenant, seq, shown).await,
    };
    let listener = Listener {
        hello: Some(Event::default().id(seq.to_string())),
        tenant,
        digest: key.digest,
        session,
        seq,
        waiting: VecDeque::new(),
        checked_at: streams.gateway.ports.clock.now(),
        listening,
        shutdown,
        streams,
        _slots: (slot, customer_slot),
    };
    let events = stream::unfold(listener, Listener::next);
    let sse = Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE));
    // Some proxies buffer a response unless told otherwise.
    Ok(([("x-accel-buffering", "no")], sse).into_response())
}

/// The new notifications, in one response. It starts with how long to wait before reconnecting, and with the position:
/// a browser that got no event would otherwise reconnect without one and miss what happened in between.
async fn polled(
    streams: &Streams,
    tenant: &TenantId,
    seq: u64,
    shown: Shown,
) -> Result<Response, Problem> {
    let page = streams
        .gateway
        .ports
        .store
        .notifications_after(tenant, seq, PAGE)
        .await?;
    let hello = Event::default().retry(COME_BACK_AFTER).id(seq.to_string());
    let events =
        std::iter::once(hello).chain(page.into_iter().filter_map(move |one| to_event(one, shown)));
    Ok(Sse::new(stream::iter(events.map(Ok::<_, Infallible>))).into_response())
}

/// `None` for what is not shown.
fn to_event(announced: StoredNotification, shown: Shown) -> Option<Event> {
    let data = match shown {
        Shown::Everything => announced.event,
        Shown::Changes => changed_ids(&announced.event)?,
    };
    let event = Event::default().id(announced.seq.to_string());
    Some(event.event(announced.kind).data(data))
}

fn last_event_id(headers: &HeaderMap) -> Result<Option<u64>, Invalid> {
    let Some(value) = headers.get(LAST_EVENT_ID) else {
        return Ok(None);
    };
    let seq = value.to_str().ok().and_then(position);
    seq.map(Some)
        .ok_or_else(|| Invalid::field(LAST_EVENT_ID, "must be the id of an event of this stream"))
}

/// Only digits: the number may not have a sign.
fn position(text: &str) -> Option<u64> {
    let fits = text.len() <= MAX_POSITION_DIGITS && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| fits)
}

/// One open stream. It reads only when the client has taken what was read before, so it never holds more than a page.
struct Listener {
    /// The position where it starts, until that is sent.
    hello: Option<Event>,
    streams: Arc<Streams>,
    tenant: TenantId,
    digest: KeyDigest,
    session: Option<StreamSession>,
    /// Everything up to here was read.
    seq: u64,
    waiting: VecDeque<StoredNotification>,
    checked_at: Timestamp,
    listening: Arc<dyn NotificationListener>,
    shutdown: watch::Receiver<bool>,
    _slots: (OwnedSemaphorePermit, Option<CustomerSlot>),
}

impl Listener {
    /// The next event. `None` ends the stream; the client reconnects with its last id.
    async fn next(mut self) -> Option<(Result<Event, Infallible>, Self)> {
        if let Some(hello) = self.hello.take() {
            return Some((Ok(hello), self));
        }
        loop {
            if let Some(next) = self.waiting.pop_front() {
                let shown = self
                    .session
                    .map_or(Shown::Everything, |session| session.shown);
                match to_event(next, shown) {
                    Some(event) => return Some((Ok(event), self)),
                    None => continue,
                }
            }
            self.wait().await?;
            self.read().await?;
        }
    }

    /// Waits until there may be something to read.
    async fn wait(&mut self) -> Option<()> {
        let ports = &self.streams.gateway.ports;
        let recheck_at = self.checked_at.plus(RECHECK_EVERY);
        tokio::select! {
            _ = self.shutdown.wait_for(|stop| *stop) => return None,
            () = self.listening.notification_past(self.seq) => {}
            () = ports.clock.sleep_until(recheck_at) => {}
        }
        let now = ports.clock.now();
        if recheck_at.is_due(now, RECHECK_EVERY) {
            let keyring = &self.streams.gateway.keyring;
            let key = keyring.recognise_again(self.digest).await.ok()??;
            let goes_on = self.session_goes_on(now).await?;
            self.checked_at = now;
            return (key.allows(Scope::Read) && goes_on).then_some(());
        }
        Some(())
    }

    async fn session_goes_on(&self, now: Timestamp) -> Option<bool> {
        let Some(session) = self.session else {
            return Some(true);
        };
        let store = &self.streams.gateway.ports.store;
        let was_ended = store.has_ended(&self.tenant, session.id).await.ok()?;
        Some(now < session.ends_at && !was_ended)
    }

    async fn read(&mut self) -> Option<()> {
        let store = &self.streams.gateway.ports.store;
        // Read before the page: what is stored in between is left for the next read.
        let newest = store.newest_notification(&self.tenant).await.ok()?;
        let page = store
            .notifications_after(&self.tenant, self.seq, PAGE)
            .await
            .ok()?;
        let last = page.last().map_or(self.seq, |last| last.seq);
        // A page that is not full has everything up to the newest; the others belong to other tenants. Without moving
        // past them, the wait would end at once every time.
        self.seq = if page.len() < PAGE {
            last.max(newest)
        } else {
            last
        };
        self.waiting = page.into();
        Some(())
    }
}
