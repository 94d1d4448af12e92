//! Tenants and their limits.

use postrider_domain::tenant::{Tenant, TenantDraft, TenantLimits};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::erasure::DeletionView;
use crate::json::{Object, Whole, present, present_strict, strict};
use crate::parameters;
use crate::patch::set;
use crate::schema;
use crate::time::ApiTime;

/// How many tenants a page has unless the request says otherwise.
pub const DEFAULT_PAGE: usize = 50;

parameters! {
    /// Which part of the list of tenants.
    pub struct TenantPageParameters as "TenantPage" {
        /// The maximum number of tenants; 50 by default.
        limit: schema::PageLimit,
        /// The `next_cursor` of the previous page.
        cursor: schema::Cursor,
    }
}

/// The settings of a new tenant.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewTenant {
    /// Chosen by the operator; cannot be changed. 1 to 64 characters out of `a-z`, `0-9`, `-` and `_`.
    #[schema(value_type = schema::TenantName)]
    pub id: String,
    /// 1 to 100 characters; surrounding whitespace is removed.
    #[schema(value_type = schema::Name)]
    pub name: String,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "strict::<_, Option<Object<LimitFields>>>"
    )]
    pub limits: Option<LimitFields>,
}

impl NewTenant {
    #[must_use]
    pub fn draft(self) -> TenantDraft {
        TenantDraft {
            name: self.name,
            limits: self.limits.unwrap_or_default().into(),
        }
    }
}

/// What a tenant may use. A limit that is `null` or absent is not set: then only the limits of the gateway apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(as = TenantLimits)]
pub struct LimitFields {
    /// The maximum number of webhooks.
    #[serde(deserialize_with = "strict::<_, Option<Whole>>")]
    #[schema(value_type = Option<schema::WebhookLimit>)]
    pub webhooks: Option<u32>,
    /// Published events per second.
    #[serde(deserialize_with = "strict::<_, Option<Whole>>")]
    #[schema(value_type = Option<schema::PublishRate>)]
    pub publish_rate: Option<u32>,
    /// The largest payload, in bytes.
    #[serde(deserialize_with = "strict::<_, Option<Whole>>")]
    #[schema(value_type = Option<schema::BodyLimit>)]
    pub max_body_bytes: Option<u32>,
    /// How many days deliveries are stored, if the gateway would store them for longer.
    #[serde(deserialize_with = "strict::<_, Option<Whole>>")]
    #[schema(value_type = Option<schema::RetentionDays>)]
    pub retention_days: Option<u32>,
}

impl From<LimitFields> for TenantLimits {
    fn from(given: LimitFields) -> Self {
        Self {
            webhooks: given.webhooks,
            publish_rate: given.publish_rate,
            max_body_bytes: given.max_body_bytes,
            retention_days: given.retention_days,
        }
    }
}

impl From<TenantLimits> for LimitFields {
    fn from(limits: TenantLimits) -> Self {
        Self {
            webhooks: limits.webhooks,
            publish_rate: limits.publish_rate,
            max_body_bytes: limits.max_body_bytes,
            retention_days: limits.retention_days,
        }
    }
}

/// The changes to a tenant.
// The outer option tells absent from `null`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TenantPatch {
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = schema::Name, required = false)]
    pub name: Option<String>,
    /// `null` removes all limits.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present_strict::<_, Option<Object<LimitsPatch>>>"
    )]
    #[schema(value_type = Option<LimitsPatch>)]
    pub limits: Option<Option<LimitsPatch>>,
}

/// The changes to the limits of a tenant. A limit that is absent does not change; `null` removes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(as = TenantLimitsPatch)]
pub struct LimitsPatch {
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present_strict::<_, Option<Whole>>"
    )]
    #[schema(value_type = Option<schema::WebhookLimit>)]
    pub webhooks: Option<Option<u32>>,
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present_strict::<_, Option<Whole>>"
    )]
    #[schema(value_type = Option<schema::PublishRate>)]
    pub publish_rate: Option<Option<u32>>,
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present_strict::<_, Option<Whole>>"
    )]
    #[schema(value_type = Option<schema::BodyLimit>)]
    pub max_body_bytes: Option<Option<u32>>,
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present_strict::<_, Option<Whole>>"
    )]
    #[schema(value_type = Option<schema::RetentionDays>)]
    pub retention_days: Option<Option<u32>>,
}

impl TenantPatch {
    /// The draft with the changes.
    #[must_use]
    pub fn apply_to(self, mut draft: TenantDraft) -> TenantDraft {
        set(&mut draft.name, self.name);
        match self.limits {
            None => {}
            Some(None) => draft.limits = TenantLimits::default(),
            Some(Some(given)) => {
                let limits = &mut draft.limits;
                set(&mut limits.webhooks, given.webhooks);
                set(&mut limits.publish_rate, given.publish_rate);
                set(&mut limits.max_body_bytes, given.max_body_bytes);
                set(&mut limits.retention_days, given.retention_days);
            }
        }
        draft
    }
}

/// A tenant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Tenant)]
pub struct TenantView {
    pub id: String,
    /// The id, if the tenant has no record.
    pub name: String,
    pub limits: LimitFields,
    /// `null` for a tenant without a record: one that exists only because it has keys or webhooks.
    #[schema(required)]
    pub created_at: Option<ApiTime>,
    #[schema(required)]
    pub updated_at: Option<ApiTime>,
    /// Set while the tenant is being deleted: nothing is accepted for it.
    #[serde(default)]
    #[schema(required)]
    pub deletion: Option<DeletionView>,
}

impl From<Tenant> for TenantView {
    fn from(tenant: Tenant) -> Self {
        Self {
            id: tenant.id.to_string(),
            name: tenant.name,
            limits: tenant.limits.into(),
            created_at: tenant.recorded.map(|known| ApiTime(known.created_at)),
            updated_at: tenant.recorded.map(|known| ApiTime(known.updated_at)),
            deletion: tenant.deletion.map(DeletionView::from),
        }
    }
}

/// A page of tenants, in order of their ids.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct TenantList {
    pub items: Vec<TenantView>,
    /// Where to continue; `null` at the end.
    #[schema(required)]
    pub next_cursor: Option<String>,
}
