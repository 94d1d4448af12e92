//! The accepted rows in a stream event.

use aws_lambda_events::event::dynamodb::EventRecord;
use lambda_runtime::Error;
use postrider_adapter_aws::dynamodb::{Image, Record};
use postrider_domain::time::Timestamp;
use postrider_ports::watch::AcceptedRow;
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Batch {
    #[serde(rename = "Records")]
    records: Vec<Value>,
}

/// The rows without a lane, each read separately, so that an unreadable record does not affect the others.
pub(crate) fn read(event: Value) -> Result<Vec<Result<Option<AcceptedRow>, Error>>, Error> {
    let batch: Batch = serde_json::from_value(event)?;
    Ok(batch.records.into_iter().map(row).collect())
}

fn row(record: Value) -> Result<Option<AcceptedRow>, Error> {
    let record: EventRecord = serde_json::from_value(record)?;
    let image = Image::from(record.change.new_image);
    let at = record.change.approximate_creation_date_time;
    let record = Record {
        id: record.event_id,
        before: None,
        after: (!image.is_empty()).then_some(image),
        at: Timestamp::from_millis(at.timestamp_millis()),
    };
    Ok(record.accepted_without_lane()?)
}
