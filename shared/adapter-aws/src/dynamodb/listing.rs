//! Lists: the shards of one index merged newest first, then the rows themselves, by key.
//!
//! The order of a list is by `created_at`, against time; rows of the same millisecond are in the order of their shards,
//! and within a shard in the index's own. So one entry tells where to go on in every shard.

use std::collections::HashMap;

use postrider_domain::delivery::Delivery;
use postrider_domain::ids::{DeliveryId, EventId, TenantId, WebhookId};
use postrider_domain::time::Timestamp;
use postrider_ports::history::{Cursor, Filter, MAX_EXAMINED, Page};
use postrider_ports::{Error, Result};
use postrider_store_format::ListKey;

use super::calls::Table;
use super::keys::Key;
use super::merge::{Merge, Wanted};
use super::{DynamoStore, row};

/// The most rows that are read at once; those of one call.
const MOST_ROWS: usize = 100;

/// An entry of an index: where it stands in the list, and whose row it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) created_at: i64,
    pub(super) shard: u16,
    pub(super) id: DeliveryId,
}

impl Place {
    fn cursor(self, list: ListKey) -> Cursor {
        let mut place = self.created_at.to_be_bytes().to_vec();
        place.extend(self.shard.to_be_bytes());
        place.extend(self.id.event.as_bytes());
        place.extend(self.id.webhook.as_bytes());
        list.cursor(&place)
    }

    fn read(list: ListKey, cursor: &Cursor) -> Result<Self> {
        let place = list.place(cursor)?;
        let parts = || {
            let (created_at, rest) = place.split_first_chunk::<8>()?;
            let (shard, rest) = rest.split_first_chunk::<2>()?;
            let (event, webhook) = rest.split_first_chunk::<16>()?;
            Some(Self {
                created_at: i64::from_be_bytes(*created_at),
                shard: u16::from_be_bytes(*shard),
                id: DeliveryId {
                    event: EventId::from_bytes(*event),
                    webhook: WebhookId::from_bytes(webhook.try_into().ok()?),
                },
            })
        };
        parts().ok_or(Error::InvalidCursor)
    }
}

impl DynamoStore {
    /// A page of a list.
    pub(super) async fn page(
        &self,
        tenant: &TenantId,
        filter: &Filter,
        limit: usize,
        cursor: Option<&Cursor>,
    ) -> Result<Page<Delivery>> {
        let list = ListKey::of_deliveries(tenant, filter)?;
        let mut last = cursor.map(|cursor| Place::read(list, cursor)).transpose()?;
        let wanted = Wanted {
            tenant,
            index: filter.index(),
            from: filter.from.map_or(i64::MIN, Timestamp::as_millis),
            to: filter
                .to
                .map_or(i64::MAX, |to| to.as_millis().saturating_sub(1)),
        };
        let mut merge = Merge::from(wanted, self.shards, last);
        let (mut items, mut examined) = (Vec::new(), 0);
        let limit = limit.max(1);
        while items.len() < limit && examined < MAX_EXAMINED {
            // Where few rows match, more are looked at in one go.
            let count = (limit - items.len()).max(examined).min(MOST_ROWS);
            let count = count.min(MAX_EXAMINED - examined);
            let places = self.next_places(&mut merge, count).await?;
            if places.is_empty() {
                return Ok(Page { items, next: None });
            }
            let mut rows = self.rows(tenant, &places).await?;
            for place in places {
                if items.len() == limit {
                    let next = last.map(|last| last.cursor(list));
                    return Ok(Page { items, next });
                }
                examined += 1;
                last = Some(place);
                items.extend(rows.remove(&place.id).filter(|row| filter.matches(row)));
            }
        }
        let next = last.filter(|_| !merge.is_at_its_end());
        let next = next.map(|last| last.cursor(list));
        Ok(Page { items, next })
    }

    async fn rows(
        &self,
        tenant: &TenantId,
        places: &[Place],
    ) -> Result<HashMap<DeliveryId, Delivery>> {
        let keys = places
            .iter()
            .map(|place| (Table::Deliveries, Key::delivery(tenant, place.id)));
        let found = self.get_all(keys.collect()).await?.into_iter();
        found
            .map(|(_, item)| row::delivery(item).map(|row| (row.id, row)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_leads_back_to_its_place() {
        let list = ListKey::of("list");
        let place = Place {
            created_at: 1_771_668_000_000,
            shard: 15,
            id: DeliveryId {
                event: EventId::from_bytes([1; 16]),
                webhook: WebhookId::from_bytes([2; 16]),
            },
        };
        assert_eq!(Place::read(list, &place.cursor(list)), Ok(place));
        for length in [0, 41, 43] {
            let cursor = list.cursor(&vec![0; length]);
            assert_eq!(Place::read(list, &cursor), Err(Error::InvalidCursor));
        }
    }
}
