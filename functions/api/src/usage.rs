//! What tenants used, per day.

use axum::Json;
use axum::extract::State;
use postrider_api_types::usage::{
    DayUsageView, TenantUsageView, UsageParameters, UsageView, date, day,
};
use postrider_domain::ids::TenantId;
use postrider_domain::invalid::Invalid;
use postrider_domain::time::{Millis, Timestamp};
use postrider_gateway::usage::{self, Days, MAX_DAYS, TenantUsage};

use crate::Api;
use crate::auth::{Caller, Read};
use crate::extract::{Id, Query};
use crate::openapi::{ItemProblems, Problems};
use crate::problem::Problem;
use crate::tenants::MANAGE_TENANTS;

const DEFAULT_DAYS: u64 = 30;

/// Get the usage of the key's tenant
///
/// Per day, in UTC. On AWS the counters lag by seconds, and an event counts when its first attempt has ended.
#[utoipa::path(
    get, path = "/v1/usage", operation_id = "get_usage", tag = "stats", security(("token" = ["read"])),
    params(UsageParameters),
    responses((status = 200, description = "The usage.", body = TenantUsageView), Problems)
)]
pub(crate) async fn own(
    State(api): State<Api>,
    caller: Caller<Read>,
    Query(given): Query<UsageParameters>,
) -> Result<Json<TenantUsageView>, Problem> {
    report(&api, caller.tenant(), &given).await
}

/// Get the usage of a tenant
///
/// Needs a key of the tenant `default`. The same as `GET /v1/usage` with a key of the tenant.
#[utoipa::path(
    get, path = "/v1/tenants/{id}/usage", operation_id = "get_tenant_usage", tag = "tenants", security(("token" = ["read"])),
    params(("id" = String, Path, description = "The id of the tenant."), UsageParameters),
    responses((status = 200, description = "The usage.", body = TenantUsageView), ItemProblems)
)]
pub(crate) async fn of_tenant(
    State(api): State<Api>,
    caller: Caller<Read>,
    Id(id): Id<TenantId>,
    Query(given): Query<UsageParameters>,
) -> Result<Json<TenantUsageView>, Problem> {
    caller.require_operator(MANAGE_TENANTS)?;
    let tenant = api.gateway.tenants.get(&id).await?;
    report(&api, &tenant.id, &given).await
}

async fn report(
    api: &Api,
    tenant: &TenantId,
    given: &UsageParameters,
) -> Result<Json<TenantUsageView>, Problem> {
    let days = days(given, api.now())?;
    let days = usage::per_day(&api.gateway.ports, tenant, days).await?;
    Ok(Json(TenantUsageView {
        tenant: tenant.to_string(),
        total: view(TenantUsage::total(&days)),
        days: days
            .into_iter()
            .map(|(day, usage)| DayUsageView {
                day: date(day),
                usage: view(usage),
            })
            .collect(),
    }))
}

fn days(given: &UsageParameters, now: Timestamp) -> Result<Days, Invalid> {
    let mut faults = Invalid::default();
    let to = given.to.as_deref();
    let to = to.and_then(|text| day("to", text, &mut faults));
    let default = Days::until(to.unwrap_or(now), DEFAULT_DAYS);
    let from = given.from.as_deref();
    let first = from.and_then(|text| day("from", text, &mut faults));
    let days = Days {
        first: first.unwrap_or(default.first),
        last: default.last,
    };
    faults.require(days.first <= days.last, "from", || {
        "must not be after `to`".to_owned()
    });
    let longest = Millis::from_seconds((MAX_DAYS - 1) * 86_400);
    faults.require(days.last.since(days.first) <= longest, "from", || {
        format!("must be at most {MAX_DAYS} days, both ends included")
    });
    faults.into_result()?;
    Ok(days)
}

const fn view(usage: TenantUsage) -> UsageView {
    UsageView {
        published: usage.published,
        delivered: usage.delivered,
        attempts: usage.attempts,
        bytes: usage.bytes,
    }
}
