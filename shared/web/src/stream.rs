//! Notifications, live, as server-sent events.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use http::HeaderMap;
use postrider_domain::ids::TenantId;
use postrider_domain::invalid::Invalid;
use postrider_domain::key::{ApiKey, KeyDigest, Scope};
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::notifications::{NotificationListener, StoredNotification};
use tokio::sync::{OwnedSemaphorePermit, watch};

use crate::auth::{Caller, Read};
use crate::openapi::Problems;
use crate::problem::{Code, Problem, ProblemBody};
use crate::{Api, Streaming};

/// How many streams may be open at once; each holds a connection and a page of notifications.
pub(crate) const MAX_STREAMS: usize = 256;
const LAST_EVENT_ID: &str = "Last-Event-ID";
/// How many notifications one read returns.
const PAGE: usize = 100;
/// How often a quiet stream sends a comment, so that proxies keep it open.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// When a listener that is answered at once should come back.
const COME_BACK_AFTER: Duration = Duration::from_secs(2);
/// How often a stream checks whether its key is still valid.
const RECHECK_EVERY: Millis = Millis::from_seconds(30);

/// Listen to notifications as server-sent events
///
/// `id` is the position in the stream, `event` the type, `data` the CloudEvents 1.0 JSON. A new listener starts with the
/// next notification; one that sends `Last-Event-ID` continues after it. The first event has only the position where the
/// stream starts, so that a listener that loses the connection before the first notification knows where to continue.
#[utoipa::path(
    get, path = "/v1/stream", operation_id = "listen", tag = "gateway", security(("token" = ["read"])),
    params(("Last-Event-ID" = Option<u64>, Header, description = "The last `id` received.", minimum = 0)),
    responses(
        (status = 200, description = "Continues until either side ends it.", body = String, content_type = "text/event-stream"),
        (status = 429, description = "Too many streams are open.", body = ProblemBody, content_type = "application/problem+json",
            headers(("Retry-After" = u32, description = "Seconds to wait."))),
        Problems,
    )
)]
pub(crate) async fn listen(
    State(api): State<Api>,
    caller: Caller<Read>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    follow(api, caller.key(), None, None, &headers).await
}

/// Follows the notifications of the key's tenant for as long as the key is valid, and until `end` if there is one. A listener
/// that sends no `Last-Event-ID` starts after `after`.
pub(crate) async fn follow(
    api: Api,
    key: &ApiKey,
    after: Option<u64>,
    end: Option<Timestamp>,
    headers: &HeaderMap,
) -> Result<Response, Problem> {
    let last_seen = last_event_id(headers)?.or(after);
    let place = Arc::clone(&api.streams).try_acquire_owned().map_err(|_| {
        let detail = format!("at most {MAX_STREAMS} streams may be open at once");
        Problem::new(Code::TooManyStreams, detail)
    })?;
    let tenant = key.tenant.clone();
    let newest = api.gateway.ports.store.newest_notification(&tenant).await?;
    // An id from the future belongs to another database; waiting for it would never end.
    let seq = last_seen.map_or(newest, |seq| seq.min(newest));
    let (listening, shutdown) = match &api.streaming {
        Streaming::Open {
            listening,
            shutdown,
        } => (Arc::clone(listening), shutdown.clone()),
        Streaming::Polled => return polled(&api, &tenant, seq).await,
    };
    let listener = Listener {
        hello: Some(Event::default().id(seq.to_string())),
        tenant,
        digest: key.digest,
        end,
        seq,
        waiting: VecDeque::new(),
        checked_at: api.gateway.ports.clock.now(),
        listening,
        shutdown,
        api,
        _place: place,
    };
    let events = stream::unfold(listener, Listener::next);
    let sse = Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE));
    // Some proxies buffer a response unless told otherwise.
    Ok(([("x-accel-buffering", "no")], sse).into_response())
}

/// What is new, in one response. It starts with how long to wait before coming back, and with the position: a browser that
/// got no event would otherwise come back without one and miss what happened in between.
async fn polled(api: &Api, tenant: &TenantId, seq: u64) -> Result<Response, Problem> {
    let page = api
        .gateway
        .ports
        .store
        .notifications_after(tenant, seq, PAGE)
        .await?;
    let hello = Event::default().retry(COME_BACK_AFTER).id(seq.to_string());
    let events = std::iter::once(hello).chain(page.into_iter().map(to_event));
    Ok(Sse::new(stream::iter(events.map(Ok::<_, Infallible>))).into_response())
}

fn to_event(announced: StoredNotification) -> Event {
    Event::default()
        .id(announced.seq.to_string())
        .event(announced.kind)
        .data(announced.event)
}

fn last_event_id(headers: &HeaderMap) -> Result<Option<u64>, Invalid> {
    let Some(value) = headers.get(LAST_EVENT_ID) else {
        return Ok(None);
    };
    match value.to_str().map(str::parse) {
        Ok(Ok(seq)) => Ok(Some(seq)),
        _ => Err(Invalid::field(
            LAST_EVENT_ID,
            "must be the id of an event of this stream",
        )),
    }
}

/// One open stream. It reads only when the client has taken what was read before, so it never holds more than a page.
struct Listener {
    /// The position where it starts, until that is sent.
    hello: Option<Event>,
    api: Api,
    tenant: TenantId,
    digest: KeyDigest,
    end: Option<Timestamp>,
    /// Everything up to here was read.
    seq: u64,
    waiting: VecDeque<StoredNotification>,
    checked_at: Timestamp,
    listening: Arc<dyn NotificationListener>,
    shutdown: watch::Receiver<bool>,
    _place: OwnedSemaphorePermit,
}

impl Listener {
    /// The next event. `None` ends the stream; the client comes back with its last id.
    async fn next(mut self) -> Option<(Result<Event, Infallible>, Self)> {
        if let Some(hello) = self.hello.take() {
            return Some((Ok(hello), self));
        }
        loop {
            if let Some(next) = self.waiting.pop_front() {
                return Some((Ok(to_event(next)), self));
            }
            self.wait().await?;
            self.read().await?;
        }
    }

    /// Waits until there may be something to read.
    async fn wait(&mut self) -> Option<()> {
        let ports = &self.api.gateway.ports;
        let recheck_at = self.checked_at.plus(RECHECK_EVERY);
        tokio::select! {
            _ = self.shutdown.wait_for(|stop| *stop) => return None,
            () = self.listening.notification_past(self.seq) => {}
            () = ports.clock.sleep_until(recheck_at) => {}
        }
        let now = ports.clock.now();
        if now >= recheck_at {
            let keyring = &self.api.gateway.keyring;
            let key = keyring.recognise_again(self.digest).await.ok()??;
            self.checked_at = now;
            let goes_on = self.end.is_none_or(|end| now < end);
            return (key.allows(Scope::Read) && goes_on).then_some(());
        }
        Some(())
    }

    async fn read(&mut self) -> Option<()> {
        let store = &self.api.gateway.ports.store;
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
