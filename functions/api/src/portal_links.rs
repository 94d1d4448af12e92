//! Links that log a customer in to the portal.

use axum::Json;
use axum::extract::State;
use http::{HeaderMap, StatusCode};
use postrider_api_types::portal::{CreatedPortalLink, NewPortalLink};
use postrider_api_types::time::ApiTime;
use postrider_domain::ids::TenantId;
use postrider_domain::invalid::Invalid;
use postrider_domain::portal::PortalLinkDraft;
use postrider_gateway::portal_links;
use postrider_web::origin;

use crate::Api;
use crate::auth::{Caller, Manage};
use crate::extract::Document;
use crate::openapi::{DocumentProblems, Problems};
use crate::problem::{Code, Problem};

/// Create a link to the portal
///
/// The link logs in once, to the portal of one tenant. Opening it shows a page that logs in, so a link preview does not use
/// it up. Revoking the key that created a link ends the link and its sessions.
#[utoipa::path(
    post, path = "/v1/portal-links", operation_id = "create_portal_link", tag = "portal",
    security(("token" = ["manage"])),
    request_body = NewPortalLink,
    responses(
        (status = 201, description = "Created; the only response that shows the link.", body = CreatedPortalLink),
        DocumentProblems,
        Problems,
    )
)]
pub(crate) async fn create(
    State(api): State<Api>,
    caller: Caller<Manage>,
    headers: HeaderMap,
    Document(given): Document<NewPortalLink>,
) -> Result<(StatusCode, Json<CreatedPortalLink>), Problem> {
    let tenant: TenantId = match given.tenant.parse() {
        Ok(tenant) => tenant,
        Err(error) => return Err(Invalid::field("tenant", format!("{error}")).into()),
    };
    if tenant != *caller.tenant() && caller.tenant().as_str() != TenantId::DEFAULT {
        let detail = "only a key of the tenant `default` may create links for another tenant";
        return Err(Problem::new(Code::ForeignTenant, detail));
    }
    let draft = PortalLinkDraft {
        tenant,
        expires_in_seconds: given.expires_in_seconds.into(),
        return_url: given.return_url,
        scopes: given.scopes,
    };
    let created = portal_links::create(&api.gateway.ports, caller.key(), draft).await?;
    let base = match &api.portal.public_url {
        Some(url) => url.clone(),
        None => origin::of(&headers).unwrap_or_default(),
    };
    let path = postrider_inspector::portal_login_path(&created.token);
    let view = CreatedPortalLink {
        url: format!("{base}{path}").into(),
        expires_at: ApiTime(created.link.expires_at),
    };
    Ok((StatusCode::CREATED, Json(view)))
}
