//! The name and limits of a tenant as a record.

use postrider_domain::ids::TenantId;
use postrider_domain::tenant::{Tenant, TenantDraft, TenantLimits};
use serde::{Deserialize, Serialize};

use super::TENANT;

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TenantRecord {
    pub kind: String,
    pub id: TenantId,
    pub name: String,
    #[serde(default)]
    pub limits: TenantLimits,
}

impl From<&Tenant> for TenantRecord {
    fn from(tenant: &Tenant) -> Self {
        Self {
            kind: TENANT.to_owned(),
            id: tenant.id.clone(),
            name: tenant.name.clone(),
            limits: tenant.limits,
        }
    }
}

impl TenantRecord {
    #[must_use]
    pub fn open(self) -> (TenantId, TenantDraft) {
        let draft = TenantDraft {
            name: self.name,
            limits: self.limits,
        };
        (self.id, draft)
    }
}
