//! Thousands of rows, put directly into the table: accepting that many would take an hour.

use std::collections::HashMap;
use std::ops::Range;

use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use postrider_domain::ids::{DeliveryId, EventId};
use postrider_domain::time::Millis;
use postrider_testkit::builders::NOW;

use crate::support::Metered;

type Item = HashMap<String, AttributeValue>;

/// The most items of one BatchWriteItem.
const PER_CALL: usize = 25;
/// One row in this many is dead.
const DEAD_EVERY: u32 = 10;

/// Rows to copy.
pub(crate) struct Originals {
    open: Item,
    dead: Item,
}

impl Originals {
    /// Reads a stored open row and a stored dead row.
    pub(crate) async fn of(metered: &Metered, open: DeliveryId, dead: DeliveryId) -> Self {
        let (open, dead) = (stored(metered, open).await, stored(metered, dead).await);
        Self { open, dead }
    }

    /// Puts copies, each with its own event and second, spread over the shards.
    pub(crate) async fn copy(&self, metered: &Metered, numbers: Range<u32>) {
        let tables = &metered.tables;
        let numbers: Vec<u32> = numbers.collect();
        for chunk in numbers.chunks(PER_CALL) {
            let puts = chunk.iter().map(|n| {
                let put = PutRequest::builder().set_item(Some(self.numbered(metered, *n)));
                let put = put.build().unwrap();
                WriteRequest::builder().put_request(put).build()
            });
            let call = tables.client.batch_write_item();
            let call = call.request_items(&tables.tables.deliveries, puts.collect());
            let answer = call.send().await.unwrap();
            assert!(answer.unprocessed_items.unwrap_or_default().is_empty());
        }
    }

    fn numbered(&self, metered: &Metered, n: u32) -> Item {
        let (tenant, webhook) = (&metered.scene.tenant, metered.webhook);
        let event = EventId::from_bytes((u128::from(n) + (1 << 80)).to_be_bytes());
        let at = NOW.plus(Millis::from_seconds(u64::from(n)));
        let shard = n % 16;
        let is_dead = n.is_multiple_of(DEAD_EVERY);
        let mut item = if is_dead { &self.dead } else { &self.open }.clone();
        let mut set = |name: &str, text| item.insert(name.into(), AttributeValue::S(text));
        set("pk", format!("{tenant}#{event}"));
        set("recent", format!("{tenant}#{shard:02}"));
        set("by_webhook", format!("{tenant}#{webhook}#{shard:02}"));
        if is_dead {
            set("trouble", format!("{tenant}#dead#{shard:02}"));
        }
        let at = AttributeValue::N(at.as_millis().to_string());
        item.insert("created_at".into(), at);
        item.remove("lane");
        item
    }
}

async fn stored(metered: &Metered, id: DeliveryId) -> Item {
    let tables = &metered.tables;
    let pk = format!("{}#{}", metered.scene.tenant, id.event);
    let call = tables.client.get_item();
    let call = call.table_name(&tables.tables.deliveries);
    let call = call.key("pk", AttributeValue::S(pk));
    let call = call.key("sk", AttributeValue::S(format!("delivery#{}", id.webhook)));
    call.send().await.unwrap().item.unwrap()
}
