//! Lists: the shards of one index merged newest first, then the rows themselves, read by key.
//!
//! A list is sorted by `created_at`, newest first; rows of the same millisecond are in the order of their shards, and
//! within a shard in index order. So one entry is enough to continue in every shard.

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
use crate::fault::readable;

/// The maximum number of rows that one call reads at once.
const MOST_ROWS: usize = 100;

/// An index entry: its position in the list, and its delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) created_at: i64,
    pub(super) shard: u16,
    pub(super) id: DeliveryId,
}

impl Position {
    fn cursor(self, list: ListKey) -> Cursor {
        let mut bytes = self.created_at.to_be_bytes().to_vec();
        bytes.extend(self.shard.to_be_bytes());
        bytes.extend(self.id.event.as_bytes());
        bytes.extend(self.id.webhook.as_bytes());
        list.cursor(&bytes)
    }

    fn read(list: ListKey, cursor: &Cursor) -> Result<Self> {
        let bytes = list.place(cursor)?;
        let parts = || {
            let (created_at, rest) = bytes.split_first_chunk::<8>()?;
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
    pub(super) async fn page(
        &self,
        tenant: &TenantId,
        filter: &Filter,
        limit: usize,
        cursor: Option<&Cursor>,
    ) -> Result<Page<Delivery>> {
        let list = ListKey::of_deliveries(tenant, filter)?;
        let mut last = cursor
            .map(|cursor| Position::read(list, cursor))
            .transpose()?;
        let wanted = Wanted {
            tenant,
            index: filter.index(),
            from: filter.from.map_or(i64::MIN, Timestamp::as_millis),
            to: filter
                .to
                .map_or(i64::MAX, |to| to.as_millis().saturating_sub(1)),
        };
        let mut merge = Merge::from(wanted, last);
        let (mut items, mut examined) = (Vec::new(), 0);
        let limit = limit.max(1);
        while items.len() < limit && examined < MAX_EXAMINED {
            // If few rows match, examine more at a time.
            let count = (limit - items.len()).max(examined).min(MOST_ROWS);
            let count = count.min(MAX_EXAMINED - examined);
            let positions = self.next_positions(&mut merge, count).await?;
            if positions.is_empty() {
                return Ok(Page { items, next: None });
            }
            let mut rows = self.rows(tenant, &positions).await?;
            for position in positions {
                if items.len() == limit {
                    let next = last.map(|last| last.cursor(list));
                    return Ok(Page { items, next });
                }
                examined += 1;
                last = Some(position);
                items.extend(rows.remove(&position.id).filter(|row| filter.matches(row)));
            }
        }
        let next = last.filter(|_| !merge.is_at_its_end());
        let next = next.map(|last| last.cursor(list));
        Ok(Page { items, next })
    }

    async fn rows(
        &self,
        tenant: &TenantId,
        positions: &[Position],
    ) -> Result<HashMap<DeliveryId, Delivery>> {
        let keys = positions
            .iter()
            .map(|position| (Table::Deliveries, Key::delivery(tenant, position.id)));
        let mut rows = HashMap::with_capacity(positions.len());
        for (_, item) in self.get_all(keys.collect()).await? {
            rows.extend(readable(row::delivery(item))?.map(|row| (row.id, row)));
        }
        Ok(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_reads_back_as_its_position() {
        let list = ListKey::of("list");
        let position = Position {
            created_at: 1_771_668_000_000,
            shard: 15,
            id: DeliveryId {
                event: EventId::from_bytes([1; 16]),
                webhook: WebhookId::from_bytes([2; 16]),
            },
        };
        assert_eq!(Position::read(list, &position.cursor(list)), Ok(position));
        for length in [0, 41, 43] {
            let cursor = list.cursor(&vec![0; length]);
            assert_eq!(Position::read(list, &cursor), Err(Error::InvalidCursor));
        }
    }
}
