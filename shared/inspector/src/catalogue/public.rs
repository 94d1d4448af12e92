//! The operator's entries for everyone, without a login, if that is switched on. It is cached: strangers cause at most one read per
//! ten seconds.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use bytes::Bytes;
use futures_util::lock::Mutex;
use http::{HeaderName, StatusCode, header};
use postrider_api_types::event_type::{EventTypeListView, EventTypeView};
use postrider_domain::event_catalogue::{CatalogueListing, Lifecycle};
use postrider_domain::ids::TenantId;
use postrider_domain::pattern::EventType;
use postrider_domain::time::{Millis, Timestamp};

use super::entry::EntryView;
use super::list::grouped;
use super::{EntryPage, ListPage};
use crate::App;
use crate::fields::Named;
use crate::page::{Frame, PageError, Section, html};

pub(crate) const HOME: &str = "/event-types";
const JSON: &str = "/event-types.json";

/// How long entries are used without a look at the store.
const FRESH_FOR: Millis = Millis::from_seconds(10);
/// What browsers and caches in between may do.
pub(crate) const CACHE_CONTROL: &str = "public, max-age=60";

struct Listed {
    entries: Vec<CatalogueListing>,
    json: Bytes,
}

/// The entries as last read. Locked during a read: requests that arrive meanwhile wait for it instead of reading, too.
#[derive(Default)]
struct Recent(Mutex<Option<(Timestamp, Arc<Listed>)>>);

impl Recent {
    async fn listed(
        &self,
        now: impl FnOnce() -> Timestamp,
        read: impl Future<Output = Result<Vec<CatalogueListing>, PageError>>,
    ) -> Result<Arc<Listed>, PageError> {
        let mut known = self.0.lock().await;
        let now = now();
        let is_fresh = |read_at: Timestamp| read_at <= now && now.since(read_at) <= FRESH_FOR;
        if let Some((read_at, listed)) = &*known
            && is_fresh(*read_at)
        {
            return Ok(Arc::clone(listed));
        }
        let entries = read.await?;
        let listed = Arc::new(Listed {
            json: json_of(&entries),
            entries,
        });
        *known = Some((now, Arc::clone(&listed)));
        Ok(listed)
    }

    async fn of(&self, app: &App) -> Result<Arc<Listed>, PageError> {
        self.listed(|| app.now(), read(app)).await
    }
}

async fn read(app: &App) -> Result<Vec<CatalogueListing>, PageError> {
    let mut entries = app.gateway.catalogue.list(&TenantId::default()).await?;
    entries.retain(|one| one.entry.lifecycle != Lifecycle::Archived);
    Ok(entries)
}

fn json_of(entries: &[CatalogueListing]) -> Bytes {
    let view = |listed: &CatalogueListing| EventTypeView {
        shared: true,
        ..listed.clone().into()
    };
    let list = EventTypeListView {
        items: entries.iter().map(view).collect(),
        next_cursor: None,
    };
    // Nothing of this can fail to be written.
    serde_json::to_vec(&list).unwrap_or_default().into()
}

/// Whether a path belongs to these pages.
pub(crate) fn has(path: &str) -> bool {
    let rest = path.strip_prefix(HOME);
    path == JSON || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route(HOME, get(list))
        .route(&format!("{HOME}/{{name}}"), get(show))
        .route(JSON, get(json))
        .layer(Extension(Arc::new(Recent::default())))
}

async fn list(
    State(app): State<App>,
    Extension(recent): Extension<Arc<Recent>>,
) -> Result<Response, PageError> {
    let listed = recent.of(&app).await?;
    let frame = Frame::public("Event types", Section::EventTypes, &app);
    let page = ListPage {
        groups: grouped(frame.home(), &listed.entries),
        validation: None,
        frame,
    };
    Ok(html(StatusCode::OK, &page))
}

async fn show(
    State(app): State<App>,
    Extension(recent): Extension<Arc<Recent>>,
    Named(name): Named<EventType>,
) -> Result<Response, PageError> {
    let listed = recent.of(&app).await?;
    let found = listed
        .entries
        .iter()
        .find(|one| one.entry.name == name)
        .cloned();
    let found = found.ok_or_else(|| PageError::not_found("event type"))?;
    let frame = Frame::public(name.as_str(), Section::EventTypes, &app);
    let page = EntryPage {
        webhooks: Vec::new(),
        may_edit: false,
        may_delete: false,
        entry: EntryView::of(frame.home(), found),
        frame,
    };
    Ok(html(StatusCode::OK, &page))
}

async fn json(
    State(app): State<App>,
    Extension(recent): Extension<Arc<Recent>>,
) -> Result<Response, PageError> {
    let listed = recent.of(&app).await?;
    // Pages of other sites may read it: it is public, and no cookie changes it.
    let for_everyone = [
        (header::CONTENT_TYPE, "application/json"),
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "cross-origin",
        ),
    ];
    Ok((for_everyone, listed.json.clone()).into_response())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use futures_util::future::{join, poll_fn};

    use super::*;

    #[test]
    fn requests_at_the_same_time_share_one_read() {
        let recent = Recent::default();
        let reads = Cell::new(0);
        // It takes until the next time that it is polled.
        let read = async || {
            reads.set(reads.get() + 1);
            let mut is_done = false;
            poll_fn(|_| {
                let now = if is_done {
                    Poll::Ready(())
                } else {
                    Poll::Pending
                };
                is_done = true;
                now
            })
            .await;
            Ok::<Vec<CatalogueListing>, PageError>(Vec::new())
        };
        let at = |seconds: i64| move || Timestamp::from_millis(seconds * 1000);
        for (seconds, expected) in [(100, 1), (110, 1), (111, 2)] {
            let (one, other) = (
                recent.listed(at(seconds), read()),
                recent.listed(at(seconds), read()),
            );
            let mut both = pin!(join(one, other));
            let mut context = Context::from_waker(Waker::noop());
            let done = (0..10).find_map(|_| match both.as_mut().poll(&mut context) {
                Poll::Ready(done) => Some(done),
                Poll::Pending => None,
            });
            let (one, other) = done.unwrap();
            assert!(Arc::ptr_eq(&one.unwrap(), &other.unwrap()));
            assert_eq!(reads.get(), expected, "at {seconds} s");
        }
    }
}
