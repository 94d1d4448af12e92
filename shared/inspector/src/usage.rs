//! What a tenant used per day and, for the operator, every tenant with its limits.

use askama::Template;
use axum::extract::State;
use axum::response::{Redirect, Response};
use http::StatusCode;
use postrider_api_types::usage::date;
use postrider_domain::ids::TenantId;
use postrider_domain::tenant::Tenant;
use postrider_domain::time::Timestamp;
use postrider_gateway::usage::{self, Days, TenantUsage};

use super::fields::{Fields, Form, Named, Query};
use super::page::{Frame, PageError, Section, html};
use super::session::{Manager, Viewer};
use super::site::Site;
use super::text;
use crate::App;

const DAYS: u64 = 30;
/// How many tenants a page lists.
const PAGE: usize = 50;

#[derive(Template)]
#[template(path = "usage.html")]
struct UsagePage {
    frame: Frame,
    /// `None` in the portal.
    tenant: Option<String>,
    /// The tenant, if it can be deleted here.
    deletable: Option<String>,
    total: UsageLine,
    /// Newest first.
    days: Vec<UsageLine>,
    /// `None` for keys of other tenants than `default`.
    tenants: Option<Tenants>,
}

struct UsageLine {
    day: String,
    published: String,
    delivered: String,
    attempts: String,
    bytes: String,
}

struct Tenants {
    lines: Vec<TenantLine>,
    /// The last tenant of this page, if there are more.
    next: Option<String>,
}

struct TenantLine {
    id: String,
    name: String,
    webhooks: String,
    publish_rate: String,
    max_body_bytes: String,
    retention: String,
    is_deleted: bool,
}

pub(super) async fn show(
    State(app): State<App>,
    viewer: Viewer,
    Query(fields): Query,
) -> Result<Response, PageError> {
    let is_operator = is_operator(&viewer);
    let asked = match fields.get("tenant").filter(|_| is_operator) {
        Some(text) => {
            let unknown = || PageError::not_found("tenant");
            let id: TenantId = text.parse().map_err(|_| unknown())?;
            Some(app.gateway.tenants.get(&id).await?)
        }
        None => None,
    };
    let deletable = asked.as_ref().filter(|tenant| can_be_deleted(tenant));
    let deletable = deletable.map(|tenant| tenant.id.to_string());
    let tenant = asked.map_or_else(|| viewer.tenant().clone(), |tenant| tenant.id);
    let days = Days::until(app.now(), DAYS);
    let days = usage::per_day(&app.gateway.ports, &tenant, days).await?;
    let tenants = if is_operator {
        Some(tenants(&app, &fields).await?)
    } else {
        None
    };
    let page = UsagePage {
        frame: Frame::new("Usage", Section::Usage, &viewer).after(&fields),
        deletable,
        tenant: (viewer.site() == Site::Inspector).then(|| tenant.to_string()),
        total: line("Total".to_owned(), TenantUsage::total(&days)),
        days: days.into_iter().rev().map(of_day).collect(),
        tenants,
    };
    Ok(html(StatusCode::OK, &page))
}

/// Deletes a tenant with everything in it, once its id was typed.
pub(super) async fn delete(
    State(app): State<App>,
    Manager(viewer): Manager,
    Named(id): Named<TenantId>,
    Form(fields): Form,
) -> Result<Redirect, PageError> {
    if !is_operator(&viewer) {
        return Err(PageError::not_found("tenant"));
    }
    if fields.text("confirm") != id.as_str() {
        let detail = format!("Type `{id}` to confirm.");
        let title = "Nothing was deleted";
        return Err(PageError::new(StatusCode::BAD_REQUEST, title, &detail));
    }
    let (owner, key) = (viewer.tenant(), viewer.key().id);
    app.gateway.delete_tenant(owner, &id, key).await?;
    Ok(viewer.redirect("/usage?done=tenant-deleted"))
}

/// A customer sees their own tenant, even if that is the operator's.
fn is_operator(viewer: &Viewer) -> bool {
    viewer.site() == Site::Inspector && viewer.tenant().as_str() == TenantId::DEFAULT
}

fn can_be_deleted(tenant: &Tenant) -> bool {
    tenant.deletion.is_none() && tenant.id.as_str() != TenantId::DEFAULT
}

async fn tenants(app: &App, fields: &Fields) -> Result<Tenants, PageError> {
    let after = fields.get("after").and_then(|text| text.parse().ok());
    // One more shows whether there is another page.
    let mut found = app.gateway.tenants.list(PAGE + 1, after.as_ref()).await?;
    let has_more = found.len() > PAGE;
    found.truncate(PAGE);
    let last = found.last().map(|tenant| tenant.id.to_string());
    Ok(Tenants {
        lines: found.into_iter().map(of_tenant).collect(),
        next: last.filter(|_| has_more),
    })
}

fn of_tenant(tenant: Tenant) -> TenantLine {
    let limit = |limit: Option<u32>, unit: &str| {
        limit.map_or_else(
            || "–".to_owned(),
            |n| format!("{}{unit}", text::count(n.into())),
        )
    };
    let limits = tenant.limits;
    TenantLine {
        id: tenant.id.to_string(),
        name: tenant.name,
        webhooks: limit(limits.webhooks, ""),
        publish_rate: limit(limits.publish_rate, "/s"),
        max_body_bytes: limit(limits.max_body_bytes, " bytes"),
        retention: limit(limits.retention_days, " days"),
        is_deleted: tenant.deletion.is_some(),
    }
}

fn of_day((day, usage): (Timestamp, TenantUsage)) -> UsageLine {
    line(date(day), usage)
}

fn line(day: String, usage: TenantUsage) -> UsageLine {
    UsageLine {
        day,
        published: text::count(usage.published),
        delivered: text::count(usage.delivered),
        attempts: text::count(usage.attempts),
        bytes: text::count(usage.bytes),
    }
}
