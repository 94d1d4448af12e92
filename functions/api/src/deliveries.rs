//! Lists, shows and retries deliveries.

pub(crate) mod shadow;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use postrider_api_types::delivery::{
    DEFAULT_PAGE, DeliveryDetail, DeliveryPage, DeliveryView, MAX_CURSOR_BYTES, MAX_PAGE,
    PageParameters, RetryNow,
};
use postrider_api_types::filter::FilterParameters;
use postrider_domain::delivery::{Delivery, Force};
use postrider_domain::flow::WaitingFor;
use postrider_domain::ids::{DeliveryId, TenantId};
use postrider_domain::invalid::Invalid;
use postrider_gateway::waiting::WaitReasons;
use postrider_ports::history::Cursor;
use postrider_presentation::redact::seen_with;
use postrider_presentation::request::Sent;
use postrider_presentation::why;

use crate::Api;
use crate::auth::{Caller, Manage, Read};
use crate::extract::{Id, Optional, Query, limit};
use crate::openapi::{DocumentProblems, ItemProblems, Problems};
use crate::problem::{Problem, ProblemBody};

/// List deliveries, newest first
#[utoipa::path(
    get, path = "/v1/deliveries", operation_id = "list_deliveries", tag = "deliveries", security(("token" = ["read"])),
    params(FilterParameters, PageParameters),
    responses((status = 200, description = "A page.", body = DeliveryPage), Problems)
)]
pub(crate) async fn list(
    State(api): State<Api>,
    caller: Caller<Read>,
    Query((filter, page)): Query<(FilterParameters, PageParameters)>,
) -> Result<Json<DeliveryPage>, Problem> {
    let mut faults = Invalid::default();
    let filter = filter.check("", &mut faults);
    let limit = limit(page.limit.as_deref(), DEFAULT_PAGE, MAX_PAGE, &mut faults);
    let cursor = page.cursor.map(Cursor);
    let fits = cursor
        .as_ref()
        .is_none_or(|Cursor(text)| (1..=MAX_CURSOR_BYTES).contains(&text.len()));
    faults.require(fits, "cursor", || {
        format!("must be a next_cursor, which has at most {MAX_CURSOR_BYTES} bytes")
    });
    faults.into_result()?;
    let history = &api.gateway.ports.store;
    let page = history
        .list(caller.tenant(), &filter, limit, cursor.as_ref())
        .await?;
    let items = views(&api, &caller, page.items).await?;
    Ok(Json(DeliveryPage {
        items,
        next_cursor: page.next.map(|Cursor(text)| text),
    }))
}

/// Deliveries as the caller may see them.
pub(crate) async fn views(
    api: &Api,
    caller: &Caller<Read>,
    rows: Vec<Delivery>,
) -> Result<Vec<DeliveryView>, Problem> {
    let waiting = waiting(api, caller.tenant(), &rows).await?;
    let view = |row| {
        let reason = waiting.reason(&row);
        DeliveryView::of(&seen_with(caller.key(), row), reason)
    };
    Ok(rows.into_iter().map(view).collect())
}

/// Reads the webhooks once, and only if there is an open delivery.
async fn waiting(api: &Api, tenant: &TenantId, rows: &[Delivery]) -> Result<WaitReasons, Problem> {
    let manage = &api.gateway.manage;
    let webhooks = if rows.iter().any(|row| row.status.is_open()) {
        manage.list(tenant).await?
    } else {
        Vec::new()
    };
    let now = api.gateway.ports.clock.now();
    Ok(WaitReasons::read(manage, rows, &webhooks, now).await?)
}

/// Get a delivery with its payload and attempts, and why it has not arrived
#[utoipa::path(
    get, path = "/v1/deliveries/{id}", operation_id = "get_delivery", tag = "deliveries", security(("token" = ["read"])),
    params(("id" = String, Path, description = "`dlv_…`")),
    responses((status = 200, description = "The delivery.", body = DeliveryDetail), ItemProblems)
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
    let flow = match &webhook {
        Some(webhook) => Some((webhook, api.gateway.manage.flow(webhook).await?)),
        None => None,
    };
    let now = api.gateway.ports.clock.now();
    let why = why::explain(&row, attempts.last(), flow, now);
    let state = flow.map(|(webhook, flow)| (webhook.health.status, flow));
    let delivery = DeliveryView::of(&row, WaitingFor::of(&row, state, now));
    let request = Sent::of(&row, event.as_deref(), webhook.as_ref()).into();
    let detail = DeliveryDetail::new(delivery, event.as_deref(), attempts, why, request);
    Ok(Json(detail))
}

/// Retry one delivery now
#[utoipa::path(
    post, path = "/v1/deliveries/{id}/retry", operation_id = "retry_delivery", tag = "deliveries", security(("token" = ["manage"])),
    params(("id" = String, Path, description = "`dlv_…`")),
    request_body(content = Option<RetryNow>, content_type = "application/json"),
    responses(
        (status = 202, description = "It is pending, and due unless `waiting_for` says what it waits for.", body = DeliveryView),
        (status = 409, description = "It is being attempted, pending or delivered, or its webhook is disabled or deleted.", body = ProblemBody, content_type = "application/problem+json"),
        DocumentProblems,
        ItemProblems,
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
    let view = view_of(&api, caller.tenant(), row).await?;
    Ok((StatusCode::ACCEPTED, Json(view)))
}

/// A delivery as a caller with the scope `manage` sees it.
pub(crate) async fn view_of(
    api: &Api,
    tenant: &TenantId,
    row: Delivery,
) -> Result<DeliveryView, Problem> {
    let (store, manage) = (&api.gateway.ports.store, &api.gateway.manage);
    let webhook = store.webhook(tenant, row.id.webhook).await?;
    let now = api.gateway.ports.clock.now();
    let rows = std::slice::from_ref(&row);
    let waiting = WaitReasons::read(manage, rows, webhook.as_slice(), now).await?;
    Ok(DeliveryView::of(&row, waiting.reason(&row)))
}
