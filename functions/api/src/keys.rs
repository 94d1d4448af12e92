//! API keys.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use postrider_api_types::key::{CreatedKey, KeyList, KeyParameters, KeyView, NewApiKey};
use postrider_domain::ids::{KeyId, TenantId};
use postrider_domain::invalid::Invalid;
use postrider_domain::key::Scope;

use crate::Api;
use crate::auth::{Caller, Manage, Needed, Read};
use crate::extract::{Document, Id, Query};
use crate::openapi::{CreateProblems, ItemProblems, Problems};
use crate::problem::Problem;

/// Create a key
#[utoipa::path(
    post, path = "/v1/keys", operation_id = "create_key", tag = "keys", security(("token" = ["manage"])),
    request_body = NewApiKey,
    responses(
        (status = 201, description = "Created; the only response that shows the token.", body = CreatedKey),
        CreateProblems,
    )
)]
pub(crate) async fn create(
    State(api): State<Api>,
    caller: Caller<Manage>,
    Document(given): Document<NewApiKey>,
) -> Result<(StatusCode, Json<CreatedKey>), Problem> {
    let mut faults = Invalid::default();
    faults.require(given.scopes.len() <= Scope::ALL.len(), "scopes", || {
        format!("must be at most {} scopes", Scope::ALL.len())
    });
    let tenant = given.tenant.as_deref().map(str::parse).transpose();
    let tenant = faults.take("tenant", tenant).flatten();
    faults.into_result()?;
    let tenant = allowed(&caller, tenant)?;
    api.gateway.tenants.require_open(&tenant).await?;
    let keyring = &api.gateway.keyring;
    let made = keyring.create(&tenant, &given.name, given.scopes).await?;
    let created = CreatedKey {
        key: made.key.into(),
        token: made.token.into(),
    };
    Ok((StatusCode::CREATED, Json(created)))
}

/// List keys
#[utoipa::path(
    get, path = "/v1/keys", operation_id = "list_keys", tag = "keys", security(("token" = ["read"])),
    params(KeyParameters),
    responses((status = 200, description = "All keys of the tenant, oldest first.", body = KeyList), Problems)
)]
pub(crate) async fn list(
    State(api): State<Api>,
    caller: Caller<Read>,
    Query(given): Query<KeyParameters>,
) -> Result<Json<KeyList>, Problem> {
    let tenant = tenant(&caller, &given)?;
    let keys = api.gateway.keyring.list(&tenant).await?;
    Ok(Json(KeyList {
        items: keys.into_iter().map(KeyView::from).collect(),
        next_cursor: None,
    }))
}

/// Revoke a key
#[utoipa::path(
    delete, path = "/v1/keys/{id}", operation_id = "revoke_key", tag = "keys", security(("token" = ["manage"])),
    params(("id" = String, Path, description = "`key_…`"), KeyParameters),
    responses((status = 204, description = "Revoked."), ItemProblems)
)]
pub(crate) async fn revoke(
    State(api): State<Api>,
    caller: Caller<Manage>,
    Id(id): Id<KeyId>,
    Query(given): Query<KeyParameters>,
) -> Result<StatusCode, Problem> {
    let tenant = tenant(&caller, &given)?;
    api.gateway.keyring.revoke(&tenant, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn tenant(caller: &Caller<impl Needed>, given: &KeyParameters) -> Result<TenantId, Problem> {
    let tenant = given.tenant.as_deref().map(str::parse).transpose();
    let tenant = tenant.map_err(|error| Invalid::field("tenant", format!("{error}")))?;
    allowed(caller, tenant)
}

/// The caller's own tenant, unless the operator asks for another one.
fn allowed(caller: &Caller<impl Needed>, tenant: Option<TenantId>) -> Result<TenantId, Problem> {
    let tenant = tenant.unwrap_or_else(|| caller.tenant().clone());
    if tenant != *caller.tenant() {
        caller.require_operator("manage the keys of another tenant")?;
    }
    Ok(tenant)
}
