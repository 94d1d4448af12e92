//! Which webhooks may have a backlog: one small item each.

use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::time::Timestamp;
use postrider_ports::drains::{Registration, Round};
use postrider_ports::history::{Cursor, Page};
use postrider_ports::{Error, Result};

use super::DynamoStore;
use super::calls::{Condition, Query, Step, Table};
use super::item::{Item, instant, ms, s};
use super::keys::{self, CHORES, Key, SK};
use crate::fault::{readable_only, unreadable};

const TOUCHED_AT: &str = "touched_at";
/// The attribute and the sort key of the round that a look did not finish.
const ROUND: &str = "round";

/// Registers a backlog, as part of the transaction that changes what its rows wait for.
pub(super) fn registering(tenant: &TenantId, webhook: WebhookId, now: Timestamp) -> Step {
    Step::Put(Table::Deliveries, registered(tenant, webhook, now), None)
}

impl DynamoStore {
    pub(super) async fn register(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        now: Timestamp,
    ) -> Result<()> {
        let item = registered(tenant, webhook, now);
        self.put(Table::Deliveries, item, None).await?;
        Ok(())
    }

    pub(super) async fn registrations_of(
        &self,
        shard: u16,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<Registration>> {
        let pk = keys::backlogs(shard);
        let after = after.map(|cursor| Key::new(&pk, &cursor.0).item());
        let query = Query {
            limit: Some(limit),
            after,
            ..Query::partition(Table::Deliveries, pk)
        };
        let found = self.query(query).await?;
        let cursor = |end: &Item| Key::of(end).map(|key| Cursor(key.sk));
        Ok(Page {
            items: readable_only(found.items.iter().map(read))?,
            next: found.next.as_ref().map(cursor).transpose()?,
        })
    }

    pub(super) async fn registration_of(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
    ) -> Result<Option<Registration>> {
        let key = Key::registration(tenant, webhook);
        let item = self.get(Table::Deliveries, &key).await?;
        item.as_ref().map(read).transpose()
    }

    pub(super) async fn unregister(&self, registration: &Registration) -> Result<()> {
        let Registration {
            tenant,
            webhook,
            touched_at,
        } = registration;
        let unchanged = Condition::new("#touched_at = :seen").with("seen", ms(*touched_at));
        let key = Key::registration(tenant, *webhook);
        self.remove(Table::Deliveries, &key, Some(unchanged)).await
    }

    pub(super) async fn stored_round(&self) -> Result<Round> {
        let item = self.get(Table::Deliveries, &round_key()).await?;
        let text = item.as_ref().and_then(|item| item.get(ROUND)?.as_s().ok());
        let round = text.map(|text| serde_json::from_str(text));
        // One that cannot be read is only a place to go on from.
        Ok(round.and_then(std::result::Result::ok).unwrap_or_default())
    }

    pub(super) async fn keep_round(&self, round: &Round) -> Result<()> {
        let text =
            serde_json::to_string(round).map_err(|error| Error::Broken(error.to_string()))?;
        let mut item = round_key().item();
        item.insert(ROUND.to_owned(), s(text));
        self.put(Table::Deliveries, item, None).await?;
        Ok(())
    }
}

fn registered(tenant: &TenantId, webhook: WebhookId, now: Timestamp) -> Item {
    let mut item = Key::registration(tenant, webhook).item();
    item.insert(TOUCHED_AT.to_owned(), ms(now));
    item
}

fn round_key() -> Key {
    Key::new(CHORES, ROUND)
}

fn read(item: &Item) -> Result<Registration> {
    let parts = || {
        let (tenant, webhook) = item.get(SK)?.as_s().ok()?.split_once('#')?;
        Some(Registration {
            tenant: tenant.parse().ok()?,
            webhook: webhook.parse().ok()?,
            touched_at: instant(item, TOUCHED_AT)?,
        })
    };
    parts().ok_or_else(|| -> Error { unreadable("a registration") })
}
