//! What happened to each delivery, and putting one back.

mod request;
pub(crate) mod shadow;
mod view;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use postrider_domain::delivery::{Force, Status};
use postrider_domain::ids::DeliveryId;
use postrider_domain::invalid::Invalid;
use postrider_ports::history::Cursor;
use serde::Deserialize;

use crate::Api;
use crate::auth::{Caller, Manage, Read};
pub(crate) use crate::deliveries::view::seen_with;
use crate::deliveries::view::{DeliveryDetail, DeliveryPage, DeliveryView};
use crate::extract::{Id, Optional, Parameters, Query};
use crate::filter::FilterInput;
use crate::openapi::{DocumentProblems, Problems, words};
use crate::problem::{Problem, ProblemBody};
use crate::why;

pub(crate) use request::Sent;

const DEFAULT_LIMIT: usize = 50;
const MAX_LIMIT: usize = 200;
/// Longer than any cursor of any store.
const MAX_CURSOR_BYTES: usize = 2048;

pub(crate) fn statuses() -> utoipa::openapi::Object {
    words(Status::ALL.map(Status::as_str))
}

/// The parameters of a list.
#[derive(Debug, Default)]
pub(crate) struct ListParameters {
    filter: FilterInput,
    limit: Option<String>,
    cursor: Option<String>,
}

impl Parameters for ListParameters {
    const NAMES: &'static [&'static str] = &[
        "session_id",
        "status",
        "webhook_id",
        "event_type",
        "from",
        "to",
        "limit",
        "cursor",
    ];

    fn place(&mut self, name: &str) -> Option<&mut Option<String>> {
        match name {
            "session_id" => Some(&mut self.filter.session_id),
            "status" => Some(&mut self.filter.status),
            "webhook_id" => Some(&mut self.filter.webhook_id),
            "event_type" => Some(&mut self.filter.event_type),
            "from" => Some(&mut self.filter.from),
            "to" => Some(&mut self.filter.to),
            "limit" => Some(&mut self.limit),
            "cursor" => Some(&mut self.cursor),
            _ => None,
        }
    }
}

/// List deliveries, newest first
#[utoipa::path(
    get, path = "/v1/deliveries", operation_id = "list_deliveries", tag = "deliveries", security(("token" = ["read"])),
    params(
        ("session_id" = Option<String>, Query, description = "Of this session."),
        ("status" = Option<String>, Query, description = "One of pending, failed, delivered, dead."),
        ("webhook_id" = Option<String>, Query, description = "To this webhook."),
        ("event_type" = Option<String>, Query, description = "Of this type."),
        ("from" = Option<String>, Query, description = "Accepted at or after this RFC 3339 time.", format = DateTime),
        ("to" = Option<String>, Query, description = "Accepted before this RFC 3339 time.", format = DateTime),
        ("limit" = Option<u32>, Query, description = "How many at the most; 50 unless set.", minimum = 1, maximum = 200),
        ("cursor" = Option<String>, Query, description = "The `next_cursor` of the page before."),
    ),
    responses((status = 200, description = "A page.", body = DeliveryPage), Problems)
)]
pub(crate) async fn list(
    State(api): State<Api>,
    caller: Caller<Read>,
    Query(given): Query<ListParameters>,
) -> Result<Json<DeliveryPage>, Problem> {
    let mut faults = Invalid::default();
    let filter = given.filter.check("", &mut faults);
    let limit = match given.limit.as_deref().map(str::parse) {
        None => DEFAULT_LIMIT,
        Some(Ok(limit)) if (1..=MAX_LIMIT).contains(&limit) => limit,
        Some(_) => {
            faults.add(
                "limit",
                format!("must be a whole number of 1 to {MAX_LIMIT}"),
            );
            DEFAULT_LIMIT
        }
    };
    let cursor = given.cursor.map(Cursor);
    let fits = cursor
        .as_ref()
        .is_none_or(|Cursor(text)| text.len() <= MAX_CURSOR_BYTES);
    faults.require(fits, "cursor", || {
        format!("must be a next_cursor, which has at most {MAX_CURSOR_BYTES} bytes")
    });
    faults.into_result()?;
    let history = &api.gateway.ports.store;
    let page = history
        .list(caller.tenant(), &filter, limit, cursor.as_ref())
        .await?;
    Ok(Json(DeliveryPage {
        items: page
            .items
            .into_iter()
            .map(|row| DeliveryView::of(&seen_with(caller.key(), row)))
            .collect(),
        next_cursor: page.next.map(|Cursor(text)| text),
    }))
}

/// One delivery with its payload and attempts, and why it has not arrived
#[utoipa::path(
    get, path = "/v1/deliveries/{id}", operation_id = "get_delivery", tag = "deliveries", security(("token" = ["read"])),
    params(("id" = String, Path, description = "`dlv_…`")),
    responses(
        (status = 200, description = "The delivery.", body = DeliveryDetail),
        (status = 404, description = "There is none with this id.", body = ProblemBody, content_type = "application/problem+json"),
        Problems,
    )
)]
pub(crate) async fn get(
    State(api): State<Api>,
    caller: Caller<Read>,
    Id(id): Id<DeliveryId>,
) -> Result<Json<DeliveryDetail>, Problem> {
    let (history, tenant) = (&api.gateway.ports.store, caller.tenant());
    let row = history.delivery(tenant, id).await?;
    let row = row.ok_or_else(|| Problem::not_found("delivery"))?;
    let row = seen_with(caller.key(), row);
    let event = history.event(tenant, id.event).await?;
    let attempts = history.attempts(tenant, id).await?;
    let webhook = history.webhook(tenant, id.webhook).await?;
    let pace = why::pace(history.as_ref(), &row).await?;
    let why = why::explain(&row, attempts.last(), webhook.as_ref(), pace);
    let sent = Sent::of(&row, event.as_deref(), webhook.as_ref());
    let detail = DeliveryDetail::of(&row, event.as_deref(), attempts);
    Ok(Json(detail.told(why, sent)))
}

/// How *Retry now* is meant.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RetryNow {
    /// Send a delivered one again, too.
    #[serde(default)]
    force: bool,
}

/// Retry one delivery now
#[utoipa::path(
    post, path = "/v1/deliveries/{id}/retry", operation_id = "retry_delivery", tag = "deliveries", security(("token" = ["manage"])),
    params(("id" = String, Path, description = "`dlv_…`")),
    request_body(content = Option<RetryNow>, content_type = "application/json"),
    responses(
        (status = 202, description = "It is pending and due.", body = DeliveryView),
        (status = 404, description = "There is none with this id.", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "It is being attempted, pending or delivered, or its webhook is disabled.", body = ProblemBody, content_type = "application/problem+json"),
        DocumentProblems,
        Problems,
    )
)]
pub(crate) async fn retry(
    State(api): State<Api>,
    caller: Caller<Manage>,
    Id(id): Id<DeliveryId>,
    Optional(given): Optional<RetryNow>,
) -> Result<(StatusCode, Json<DeliveryView>), Problem> {
    let force = if given.force {
        Force::Delivered
    } else {
        Force::No
    };
    let retries = &api.gateway.retries;
    let row = retries.retry_now(caller.tenant(), id, force).await?;
    Ok((StatusCode::ACCEPTED, Json(DeliveryView::of(&row))))
}
