//! The changes in a stream event, each read separately, so that an unreadable one does not affect the others.

use aws_lambda_events::event::dynamodb::EventRecord;
use lambda_runtime::Error;
use postrider_adapter_aws::dynamodb::{Image, Record};
use postrider_domain::time::Timestamp;
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Batch {
    #[serde(rename = "Records")]
    records: Vec<Value>,
}

/// A change with its sequence number.
pub(crate) type Numbered = (String, Result<Record, serde_json::Error>);

pub(crate) fn read(event: Value) -> Result<Vec<Numbered>, Error> {
    let batch: Batch = serde_json::from_value(event)?;
    let mut records = Vec::with_capacity(batch.records.len());
    for record in batch.records {
        let sequence = record.pointer("/dynamodb/SequenceNumber");
        let sequence = sequence.and_then(Value::as_str).map(str::to_owned);
        // Without it, the failed change could not be reported to the stream.
        let sequence = sequence.ok_or("a record without a sequence number")?;
        records.push((sequence, serde_json::from_value(record).map(change)));
    }
    Ok(records)
}

fn change(record: EventRecord) -> Record {
    let image = |item: serde_dynamo::Item| {
        let image = Image::from(item);
        (!image.is_empty()).then_some(image)
    };
    let at = record.change.approximate_creation_date_time;
    Record {
        id: record.event_id,
        before: image(record.change.old_image),
        after: image(record.change.new_image),
        at: Timestamp::from_millis(at.timestamp_millis()),
    }
}
