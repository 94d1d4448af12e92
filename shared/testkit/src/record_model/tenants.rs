//! Records of tenants. A tenant without one exists from its first key or webhook on.

use postrider_domain::ids::TenantId;
use postrider_domain::tenant::{Tenant, TenantDraft, TenantLimits};
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::configs::Changed;
use proptest::prelude::*;

use super::command::{self, Seen};
use super::version::Raised;
use super::{Model, Records};

/// Stores a record that is based on the stored one, or on an earlier one.
#[derive(Clone, Debug)]
pub(super) struct TenantCommand {
    seen: Seen,
}

pub(super) fn command() -> impl Strategy<Value = TenantCommand> {
    command::seen().prop_map(|seen| TenantCommand { seen })
}

/// Whether the tenant exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Exists {
    No,
    /// It has had event types and nothing else.
    Perhaps,
    /// It has had a record, a key or a webhook.
    Yes,
}

impl Records {
    pub(super) fn exists(&mut self, exists: Exists) {
        self.exists = self.exists.max(exists);
    }

    /// The tenant as the store should show it, if it does.
    fn shown(&self) -> Tenant {
        let unrecorded = || Tenant::unrecorded(self.tenant.clone());
        self.record.clone().unwrap_or_else(unrecorded)
    }
}

impl Model {
    pub(super) async fn do_with_tenants(
        &mut self,
        command: &TenantCommand,
    ) -> Result<(), TestCaseError> {
        let n = self.draw();
        let draft = TenantDraft {
            name: format!("tenant {n}"),
            limits: TenantLimits {
                publish_rate: Some(n),
                retention_days: n.is_multiple_of(2).then_some(7),
                ..TenantLimits::default()
            },
        };
        let unrecorded = || Tenant::unrecorded(self.ours.tenant.clone());
        let before = self.ours.record.clone().unwrap_or_else(unrecorded);
        let after = before.changed(&draft, self.now).unwrap();
        let (seen, expected) = match command.seen {
            Seen::Current => (before.updated_at(), Changed::Done),
            Seen::Outdated => (another(before.updated_at()), Changed::Outdated),
        };
        let put = self.store().put_tenant(after.clone(), seen).await;
        prop_assert_eq!(put, Ok(expected));
        if expected == Changed::Done {
            self.ours.record = Some(after);
            self.ours.exists(Exists::Yes);
            self.ours.raise(Raised::Yes);
        }
        self.compare_version().await
    }

    pub(super) async fn compare_tenants(&self) -> Result<(), TestCaseError> {
        let (store, mut both) = (self.store(), [&self.ours, &self.theirs]);
        both.sort_by_key(|records| &records.tenant);
        let mut expected = Vec::new();
        for records in both {
            let found = store.tenant(&records.tenant).await.unwrap();
            let exists = match records.exists {
                Exists::No => false,
                Exists::Perhaps => found.is_some(),
                Exists::Yes => true,
            };
            let shown = exists.then(|| records.shown());
            prop_assert_eq!(&found, &shown);
            expected.extend(shown);
        }
        let list = store.webhooks(&self.ours.tenant).await.unwrap();
        prop_assert_eq!(&list.tenant, &self.ours.record);
        for limit in [1, 3] {
            prop_assert_eq!(&self.page_by_page(limit).await, &expected);
        }
        Ok(())
    }

    /// The tenants of this sequence, which begin with the same name.
    async fn page_by_page(&self, limit: usize) -> Vec<Tenant> {
        let first = super::case_name(self.case);
        let mut found: Vec<Tenant> = Vec::new();
        let mut after: TenantId = first.parse().unwrap();
        loop {
            let page = self.store().tenant_page(limit, Some(&after)).await;
            let page = page.unwrap();
            let full = page.len() == limit;
            let of_case = page.into_iter();
            let mut of_case = of_case.filter(|tenant| tenant.id.as_str().starts_with(&first));
            let last = found.len();
            found.extend(&mut of_case);
            match found.last() {
                Some(tenant) if full && found.len() == last + limit => after = tenant.id.clone(),
                Some(_) | None => return found,
            }
        }
    }
}

/// When a record was not changed that was changed then.
fn another(seen: Option<Timestamp>) -> Option<Timestamp> {
    match seen {
        Some(at) if at.as_millis() % 2 == 0 => None,
        Some(at) => Some(at.minus(Millis::new(1))),
        None => Some(Timestamp::ZERO),
    }
}
