//! Reads the history: rows, payloads, attempts, counters.

use std::sync::Arc;

use async_trait::async_trait;
use postrider_domain::attempt::Attempt;
use postrider_domain::delivery::Delivery;
use postrider_domain::event::Event;
use postrider_domain::ids::{DeliveryId, EventId, TenantId, WebhookId};
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::history::{Cursor, Filter, History, HourlyStats, Page};

use super::calls::Table;
use super::keys::{self, Key};
use super::query::Query;
use super::{DynamoStore, row};

#[async_trait]
impl History for DynamoStore {
    async fn delivery(&self, tenant: &TenantId, id: DeliveryId) -> Result<Option<Delivery>> {
        let key = Key::delivery(tenant, id);
        let found = self.get(Table::Deliveries, &key).await?;
        found.map(row::delivery).transpose()
    }

    async fn event(&self, tenant: &TenantId, id: EventId) -> Result<Option<Arc<Event>>> {
        match self.kept(tenant, id).await? {
            Some(kept) => self.with_body(kept).await,
            None => Ok(None),
        }
    }

    async fn rows_of(&self, tenant: &TenantId, event: EventId) -> Result<Vec<Delivery>> {
        let Key { pk, .. } = Key::event(tenant, event);
        let rows = Query::prefix(Table::Deliveries, pk, keys::DELIVERY_PREFIX);
        let items = self.query_all(rows).await?;
        items.into_iter().map(row::delivery).collect()
    }

    async fn attempts(&self, tenant: &TenantId, id: DeliveryId) -> Result<Vec<Attempt>> {
        self.attempts_of(tenant, id).await
    }

    async fn list(
        &self,
        tenant: &TenantId,
        filter: &Filter,
        limit: usize,
        cursor: Option<&Cursor>,
    ) -> Result<Page<Delivery>> {
        self.page(tenant, filter, limit, cursor).await
    }

    async fn stats(
        &self,
        tenant: &TenantId,
        webhook: Option<WebhookId>,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Vec<HourlyStats>> {
        match webhook {
            Some(webhook) => self.hours(tenant, webhook, from, to).await,
            None => self.hours_of_all(tenant, from, to).await,
        }
    }
}
