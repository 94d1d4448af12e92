//! Tenants: creating, listing, changing and deleting them. Only for keys of the tenant `default`.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use postrider_api_types::delivery::MAX_PAGE;
use postrider_api_types::erasure::ErasureView;
use postrider_api_types::tenant::{
    DEFAULT_PAGE, NewTenant, TenantList, TenantPageParameters, TenantPatch, TenantView,
};
use postrider_domain::ids::TenantId;
use postrider_domain::invalid::Invalid;

use crate::Api;
use crate::auth::{Caller, Manage, Read};
use crate::created::Created;
use crate::extract::{Document, Id, Query, limit};
use crate::openapi::{ChangeProblems, ItemProblems, Problems, TenantProblems};
use crate::problem::{Problem, ProblemBody};

/// What only the operator may do.
pub(crate) const MANAGE_TENANTS: &str = "see and manage tenants";

/// Create a tenant
///
/// Needs a key of the tenant `default`. Keys and webhooks that the tenant already has stay as they are.
#[utoipa::path(
    post, path = "/v1/tenants", operation_id = "create_tenant", tag = "tenants", security(("token" = ["manage"])),
    request_body = NewTenant,
    responses(
        (status = 201, description = "Created.", body = TenantView,
            headers(("Location" = String, description = "The path of the tenant."))),
        TenantProblems,
    )
)]
pub(crate) async fn create(
    State(api): State<Api>,
    caller: Caller<Manage>,
    Document(given): Document<NewTenant>,
) -> Result<Created<TenantView>, Problem> {
    caller.require_operator(MANAGE_TENANTS)?;
    let id: TenantId = given
        .id
        .parse()
        .map_err(|error| Invalid::field("id", format!("{error}")))?;
    let tenant = api.gateway.tenants.create(id, &given.draft()).await?;
    let id = tenant.id.clone();
    Ok(Created::new("/v1/tenants", id, tenant.into()))
}

/// List tenants
///
/// Needs a key of the tenant `default`. Also lists tenants without a record, which have no limits.
#[utoipa::path(
    get, path = "/v1/tenants", operation_id = "list_tenants", tag = "tenants", security(("token" = ["read"])),
    params(TenantPageParameters),
    responses((status = 200, description = "A page, in order of their ids.", body = TenantList), Problems)
)]
pub(crate) async fn list(
    State(api): State<Api>,
    caller: Caller<Read>,
    Query(page): Query<TenantPageParameters>,
) -> Result<Json<TenantList>, Problem> {
    caller.require_operator(MANAGE_TENANTS)?;
    let mut faults = Invalid::default();
    let limit = limit(page.limit.as_deref(), DEFAULT_PAGE, MAX_PAGE, &mut faults);
    let after = page.cursor.map(|text| text.parse::<TenantId>());
    let after = after.map(|parsed| parsed.map_err(|_| "must be a next_cursor of this list"));
    let after = after.and_then(|parsed| faults.take("cursor", parsed));
    faults.into_result()?;
    let tenants = &api.gateway.tenants;
    // One more shows whether there is another page.
    let mut found = tenants.list(limit + 1, after.as_ref()).await?;
    let has_more = found.len() > limit;
    found.truncate(limit);
    let last = found.last().map(|tenant| tenant.id.to_string());
    Ok(Json(TenantList {
        items: found.into_iter().map(TenantView::from).collect(),
        next_cursor: last.filter(|_| has_more),
    }))
}

/// Get a tenant
///
/// Needs a key of the tenant `default`.
#[utoipa::path(
    get, path = "/v1/tenants/{id}", operation_id = "get_tenant", tag = "tenants", security(("token" = ["read"])),
    params(("id" = String, Path, description = "The id of the tenant.")),
    responses((status = 200, description = "The tenant.", body = TenantView), ItemProblems)
)]
pub(crate) async fn get(
    State(api): State<Api>,
    caller: Caller<Read>,
    Id(id): Id<TenantId>,
) -> Result<Json<TenantView>, Problem> {
    caller.require_operator(MANAGE_TENANTS)?;
    let tenant = api.gateway.tenants.get(&id).await?;
    Ok(Json(tenant.into()))
}

/// Change a tenant
///
/// Needs a key of the tenant `default`. A field that is absent does not change; `null` removes a limit. A tenant without a
/// record gets one.
#[utoipa::path(
    patch, path = "/v1/tenants/{id}", operation_id = "change_tenant", tag = "tenants", security(("token" = ["manage"])),
    params(("id" = String, Path, description = "The id of the tenant.")),
    request_body = TenantPatch,
    responses((status = 200, description = "The tenant.", body = TenantView), ChangeProblems)
)]
pub(crate) async fn patch(
    State(api): State<Api>,
    caller: Caller<Manage>,
    Id(id): Id<TenantId>,
    Document(given): Document<TenantPatch>,
) -> Result<Json<TenantView>, Problem> {
    caller.require_operator(MANAGE_TENANTS)?;
    let tenants = &api.gateway.tenants;
    let changed = tenants.change(&id, |draft| given.apply_to(draft)).await?;
    Ok(Json(changed.into()))
}

/// Delete a tenant with everything in it
///
/// Needs a key of the tenant `default`, which cannot be deleted itself. Once the request is accepted, nothing more is accepted for
/// the tenant and its keys do not work; what is being attempted ends, and nothing is sent afterwards. Webhooks, sources, keys, event types,
/// events, deliveries and counters are deleted in the background. The record of the deletion stays: see `GET /v1/erasures/{id}`.
/// The id can be used again once it is done. A repeated call returns the deletion under way.
#[utoipa::path(
    delete, path = "/v1/tenants/{id}", operation_id = "delete_tenant", tag = "tenants", security(("token" = ["manage"])),
    params(("id" = String, Path, description = "The id of the tenant.")),
    responses(
        (status = 202, description = "Begun.", body = ErasureView),
        (status = 409, description = "The tenant `default` cannot be deleted.", body = ProblemBody, content_type = "application/problem+json"),
        ItemProblems,
    )
)]
pub(crate) async fn delete(
    State(api): State<Api>,
    caller: Caller<Manage>,
    Id(id): Id<TenantId>,
) -> Result<(StatusCode, Json<ErasureView>), Problem> {
    caller.require_operator(MANAGE_TENANTS)?;
    let (owner, key) = (caller.tenant(), caller.key().id);
    let deletion = api.gateway.delete_tenant(owner, &id, key).await?;
    Ok((StatusCode::ACCEPTED, Json(deletion.into())))
}
