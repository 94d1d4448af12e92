//! API keys. The token is shown once; the digest never.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use postrider_domain::ids::{KeyId, TenantId};
use postrider_domain::invalid::Invalid;
use postrider_domain::key::{ApiKey, Scope};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Api;
use crate::auth::{Caller, Manage, Read};
use crate::extract::{Document, Id, NoParameters, Query};
use crate::json::Word;
use crate::openapi::{DocumentProblems, Problems, words};
use crate::problem::{Code, Problem, ProblemBody};
use crate::views::Time;

/// What a new key shall be.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewKey {
    /// 1 to 100 characters.
    name: String,
    /// What it may do.
    #[schema(schema_with = scopes)]
    scopes: Vec<Word<Scope>>,
    /// Whose data it opens: one's own unless set, another's only with a key of the tenant `default`.
    #[serde(default)]
    tenant: Option<String>,
}

/// A key as it is listed.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Key)]
pub(crate) struct KeyView {
    #[schema(value_type = String)]
    id: KeyId,
    name: String,
    #[schema(schema_with = scopes)]
    scopes: Vec<Scope>,
    tenant: String,
    created_at: Time,
    /// To the minute.
    #[schema(required)]
    last_used_at: Option<Time>,
}

/// All keys of the tenant, the oldest first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct KeyList {
    items: Vec<KeyView>,
    /// Always `null`: the list is never parted.
    #[schema(required)]
    next_cursor: Option<String>,
}

/// A key that was just made.
#[derive(Serialize, ToSchema)]
pub(crate) struct CreatedKey {
    #[serde(flatten)]
    key: KeyView,
    /// The key itself, shown this once.
    token: String,
}

fn scopes() -> utoipa::openapi::Array {
    utoipa::openapi::ArrayBuilder::new()
        .items(words(Scope::ALL.map(Scope::as_str)))
        .min_items(Some(1))
        .max_items(Some(Scope::ALL.len()))
        .build()
}

impl From<ApiKey> for KeyView {
    fn from(key: ApiKey) -> Self {
        Self {
            id: key.id,
            name: key.name,
            scopes: key.scopes,
            tenant: key.tenant.to_string(),
            created_at: Time(key.created_at),
            last_used_at: key.last_used_at.map(Time),
        }
    }
}

/// Make a key
#[utoipa::path(
    post, path = "/v1/keys", operation_id = "create_key", tag = "keys", security(("token" = ["manage"])),
    request_body = NewKey,
    responses(
        (status = 201, description = "Made; the only answer that shows the token.", body = CreatedKey),
        (status = 409, description = "The tenant has as many keys as it may have.", body = ProblemBody, content_type = "application/problem+json"),
        DocumentProblems,
        Problems,
    )
)]
pub(crate) async fn create(
    State(api): State<Api>,
    caller: Caller<Manage>,
    Document(given): Document<NewKey>,
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
        let detail = "only a key of the tenant `default` may make keys for another tenant";
        return Err(Problem::new(Code::ForeignTenant, detail));
    }
    let scopes = given.scopes.into_iter().map(|Word(scope)| scope).collect();
    let made = api
        .gateway
        .keyring
        .create(&tenant, &given.name, scopes)
        .await?;
    let created = CreatedKey {
        key: made.key.into(),
        token: made.token,
    };
    Ok((StatusCode::CREATED, Json(created)))
}

/// List keys
#[utoipa::path(
    get, path = "/v1/keys", operation_id = "list_keys", tag = "keys", security(("token" = ["read"])),
    responses((status = 200, description = "All keys of the tenant, the oldest first.", body = KeyList), Problems)
)]
pub(crate) async fn list(
    State(api): State<Api>,
    caller: Caller<Read>,
    _: Query<NoParameters>,
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
    responses(
        (status = 204, description = "Revoked."),
        (status = 404, description = "There is none with this id.", body = ProblemBody, content_type = "application/problem+json"),
        Problems,
    )
)]
pub(crate) async fn revoke(
    State(api): State<Api>,
    caller: Caller<Manage>,
    Id(id): Id<KeyId>,
) -> Result<StatusCode, Problem> {
    api.gateway.keyring.revoke(caller.tenant(), id).await?;
    Ok(StatusCode::NO_CONTENT)
}
