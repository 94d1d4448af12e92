//! A page of a list costs the same however many rows there are.

use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use postrider_domain::delivery::Status;
use postrider_domain::ids::{DeliveryId, EventId};
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::history::Filter;
use postrider_testkit::builders::NOW;

use crate::support::{Metered, Spent};

type Item = std::collections::HashMap<String, AttributeValue>;

/// The most items of one BatchWriteItem.
const PER_CALL: u32 = 25;

#[tokio::test]
async fn a_page_of_twenty_thousand_rows_reads_no_more_than_one_of_a_thousand() {
    let metered = Metered::start().await;
    let (id, _) = metered.accept(None, 100).await;
    let row = row(&metered, id).await;
    let mut seen = Vec::new();
    let mut made = 0;
    for rows in [1_000, 20_000] {
        fill(&metered, &row, id, made..rows).await;
        made = rows;
        let all = page(&metered, Filter::default()).await;
        let of_webhook = Filter {
            webhook_id: Some(id.webhook),
            ..Filter::default()
        };
        let of_webhook = page(&metered, of_webhook).await;
        println!(
            "a page of 50 among {rows} rows: {} read units, of one webhook {}",
            all.reads, of_webhook.reads
        );
        seen.push((all.reads, of_webhook.reads));
    }
    assert_eq!(seen[0], seen[1]);
    assert!(
        seen[0].0 <= 80.0,
        "50 rows, and what the index says of them"
    );
}

async fn page(metered: &Metered, filter: Filter) -> Spent {
    metered.meter.take();
    let page = metered.scene.page(&filter, 50).await;
    let spent = metered.meter.take();
    assert!(page.next.is_some());
    assert_eq!(page.items.len(), 50);
    assert!(page.items.iter().all(|row| row.status == Status::Pending));
    spent
}

/// The item of a stored row.
async fn row(metered: &Metered, id: DeliveryId) -> Item {
    let tables = &metered.tables;
    let pk = format!("{}#{}", metered.scene.tenant, id.event);
    let call = tables
        .client
        .get_item()
        .table_name(&tables.tables.deliveries);
    let call = call.key("pk", AttributeValue::S(pk));
    let call = call.key("sk", AttributeValue::S(format!("delivery#{}", id.webhook)));
    call.send().await.unwrap().item.unwrap()
}

/// Puts copies of a row, each of an event and a second of its own, spread over the shards.
async fn fill(metered: &Metered, row: &Item, id: DeliveryId, numbers: std::ops::Range<u32>) {
    let tables = &metered.tables;
    let numbers: Vec<u32> = numbers.collect();
    for chunk in numbers.chunks(PER_CALL as usize) {
        let puts = chunk.iter().map(|n| {
            let put = PutRequest::builder().set_item(Some(copy(metered, row, id, *n)));
            let put = put.build().unwrap();
            WriteRequest::builder().put_request(put).build()
        });
        let call = tables.client.batch_write_item();
        let call = call.request_items(&tables.tables.deliveries, puts.collect());
        let answer = call.send().await.unwrap();
        assert!(answer.unprocessed_items.unwrap_or_default().is_empty());
    }
}

fn copy(metered: &Metered, row: &Item, id: DeliveryId, n: u32) -> Item {
    let tenant = &metered.scene.tenant;
    let event = EventId::from_bytes((u128::from(n) + (1 << 80)).to_be_bytes());
    let at: Timestamp = NOW.plus(Millis::from_seconds(u64::from(n)));
    let shard = n % 16;
    let text = AttributeValue::S;
    let mut item = row.clone();
    item.insert("pk".into(), text(format!("{tenant}#{event}")));
    item.insert("recent".into(), text(format!("{tenant}#{shard:02}")));
    let by_webhook = format!("{tenant}#{}#{shard:02}", id.webhook);
    item.insert("by_webhook".into(), text(by_webhook));
    item.insert(
        "created_at".into(),
        AttributeValue::N(at.as_millis().to_string()),
    );
    item.remove("lane");
    item
}
