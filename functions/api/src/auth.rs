//! Authentication and authorization of API callers.

use std::marker::PhantomData;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use http::request::Parts;
use http::{HeaderMap, header};
use postrider_domain::ids::TenantId;
use postrider_domain::key::{ApiKey, Scope};

use crate::Recognised;

use crate::Api;
use crate::problem::{Code, Problem};

/// A scope as a type, so a handler's signature states what it requires.
pub(crate) trait Needed: Send + Sync {
    const SCOPE: Scope;
}

pub(crate) struct Publish;
pub(crate) struct Read;
pub(crate) struct Manage;

impl Needed for Publish {
    const SCOPE: Scope = Scope::Publish;
}

impl Needed for Read {
    const SCOPE: Scope = Scope::Read;
}

impl Needed for Manage {
    const SCOPE: Scope = Scope::Manage;
}

/// A caller whose key has the scope. Handlers get a tenant only through it, so none can forget the check.
pub(crate) struct Caller<S> {
    key: Arc<ApiKey>,
    scope: PhantomData<S>,
}

impl<S: Needed> Caller<S> {
    pub(crate) fn key(&self) -> &ApiKey {
        &self.key
    }

    pub(crate) fn tenant(&self) -> &TenantId {
        &self.key.tenant
    }

    /// Rejects keys of other tenants than `default`. `what` is what only its keys may do.
    pub(crate) fn require_operator(&self, what: &str) -> Result<(), Problem> {
        if self.tenant().as_str() == TenantId::DEFAULT {
            return Ok(());
        }
        let detail = format!("only a key of the tenant `default` may {what}");
        Err(Problem::new(Code::ForeignTenant, detail))
    }
}

impl<S: Needed> FromRequestParts<Api> for Caller<S> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, Problem> {
        let key = recognise(api, bearer(&parts.headers)?).await?;
        if !key.allows(S::SCOPE) {
            let detail = format!("the key lacks the scope `{}`", S::SCOPE.as_str());
            return Err(Problem::new(Code::MissingScope, detail));
        }
        Recognised::mark(&parts.extensions);
        let scope = PhantomData;
        Ok(Self { key, scope })
    }
}

async fn recognise(api: &Api, token: &str) -> Result<Arc<ApiKey>, Problem> {
    let key = api.gateway.keyring.recognise(token).await?;
    key.ok_or_else(|| Problem::new(Code::InvalidToken, "unknown or revoked token"))
}

fn bearer(headers: &HeaderMap) -> Result<&str, Problem> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let Some(value) = values.next() else {
        let detail = "send the header `Authorization: Bearer <token>`";
        return Err(Problem::new(Code::MissingToken, detail));
    };
    std::str::from_utf8(value.as_bytes())
        .ok()
        .and_then(|text| text.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer") && values.next().is_none())
        .map(|(_, token)| token.trim())
        .filter(|token| !token.is_empty())
        .ok_or_else(|| {
            let detail = "expected `Authorization: Bearer <token>`";
            Problem::new(Code::InvalidToken, detail)
        })
}
