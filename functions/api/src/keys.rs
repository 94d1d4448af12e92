//! API keys.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use postrider_api_types::key::{CreatedKey, KeyList, KeyView, NewApiKey};
use postrider_domain::ids::{KeyId, TenantId};
use postrider_domain::invalid::Invalid;
use postrider_domain::key::Scope;

use crate::Api;
use crate::auth::{Caller, Manage, Read};
use crate::extract::{Document, Id, Query};
use crate::openapi::{CreateProblems, ItemProblems, Problems};
use crate::problem::{Code, Problem};

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
    let tenant = match given.tenant.as_deref().map(str::parse) {
        None => Some(caller.tenant().clone()),
        Some(parsed) => faults.take("tenant", parsed),
    };
    faults.into_result()?;
    let tenant = tenant.unwrap_or_else(|| caller.tenant().clone());
    if tenant != *caller.tenant() && caller.tenant().as_str() != TenantId::DEFAULT {
        let detail = "only a key of the tenant `default` may create keys for another tenant";
        return Err(Problem::new(Code::ForeignTenant, detail));
    }
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
    responses((status = 200, description = "All keys of the tenant, oldest first.", body = KeyList), Problems)
)]
pub(crate) async fn list(
    State(api): State<Api>,
    caller: Caller<Read>,
    _: Query<()>,
) -> Result<Json<KeyList>, Problem> {
    let keys = api.gateway.keyring.list(caller.tenant()).await?;
    Ok(Json(KeyList {
        items: keys.into_iter().map(KeyView::from).collect(),
        next_cursor: None,
    }))
}

/// Revoke a key
#[utoipa::path(
    delete, path = "/v1/keys/{id}", operation_id = "revoke_key", tag = "keys", security(("token" = ["manage"])),
    params(("id" = String, Path, description = "`key_…`")),
    responses((status = 204, description = "Revoked."), ItemProblems)
)]
pub(crate) async fn revoke(
    State(api): State<Api>,
    caller: Caller<Manage>,
    Id(id): Id<KeyId>,
) -> Result<StatusCode, Problem> {
    api.gateway.keyring.revoke(caller.tenant(), id).await?;
    Ok(StatusCode::NO_CONTENT)
}
