//! An hourly search for parked rows of active webhooks: whatever went wrong, no row is left behind.

use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::Result;

use super::DynamoStore;
use super::calls::{Change, Condition, Query, Table};
use super::chores::Chore;
use super::item::{instant, ms};
use super::keys::{CHORES, Key, TENANTS, WEBHOOK_PREFIX};
use crate::fault::unreadable;

const EVERY: Millis = Millis::from_seconds(3600);

impl DynamoStore {
    /// Marks every active webhook to be checked, if the last check was an hour ago. The time is stored after all are
    /// marked, so an interrupted check is repeated; two concurrent checks only mark twice.
    pub(super) async fn mark_hourly(&self, now: Timestamp) -> Result<()> {
        let key = || Key::new(CHORES, "hourly");
        let clock = || Change::of(Table::Deliveries, key()).set("at", ms(now));
        let due = Condition::new("#at <= :before OR #at > :now")
            .with("before", ms(now.minus(EVERY)))
            .with("now", ms(now));
        let Some(noted) = self.get(Table::Deliveries, &key()).await? else {
            // The first hour starts now.
            let first = Condition::new("attribute_not_exists(#pk)");
            self.change(clock().only_if(first)).await?;
            return Ok(());
        };
        let last = instant(&noted, "at").ok_or_else(|| unreadable("the hour"))?;
        if !last.plus(EVERY).is_due(now, EVERY) {
            return Ok(());
        }
        for tenant in self.tenants().await? {
            self.mark_active(&tenant, now).await?;
        }
        self.change(clock().only_if(due)).await?;
        Ok(())
    }

    /// Every tenant that ever had a webhook.
    pub(super) async fn tenants(&self) -> Result<Vec<TenantId>> {
        let tenants = self.query_all(Query::partition(Table::Configs, TENANTS));
        let name = |item| {
            let name = Key::of(&item)?.sk.parse();
            name.map_err(|_| unreadable("a tenant"))
        };
        tenants.await?.into_iter().map(name).collect()
    }

    pub(super) async fn webhook_ids(
        &self,
        tenant: &TenantId,
    ) -> Result<Vec<(TenantId, WebhookId)>> {
        let webhooks = Query::prefix(Table::Configs, tenant.as_str(), WEBHOOK_PREFIX);
        let id = |item| {
            let id = Key::of(&item)?.sk.parse();
            Ok((tenant.clone(), id.map_err(|_| unreadable("a webhook"))?))
        };
        self.query_all(webhooks)
            .await?
            .into_iter()
            .map(id)
            .collect()
    }

    async fn mark_active(&self, tenant: &TenantId, now: Timestamp) -> Result<()> {
        let ids = self.webhook_ids(tenant).await?;
        for ((tenant, webhook), state) in self.states(ids).await? {
            if !state.health.status.parks() {
                self.mark_for_check(tenant, webhook, now).await?;
            } else if Self::is_probed(&state.health) {
                self.mark(Chore::Test, &tenant, webhook, now).await?;
            }
        }
        Ok(())
    }
}
