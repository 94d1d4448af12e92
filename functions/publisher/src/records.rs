//! The changes in a stream event, each read separately, so that an unreadable one does not affect the others.

use aws_lambda_events::event::dynamodb::EventRecord;
use lambda_runtime::Error;
use postrider_adapter_aws::dynamodb::{Image, Record};
use postrider_adapter_aws::unreadable::UnreadableChange;
use postrider_domain::time::Timestamp;
use serde::Deserialize;
use serde_json::Value;

/// A batch as the stream delivers it, or as Lambda wrote it to the failure destination.
#[derive(Deserialize)]
#[serde(untagged)]
enum Batch {
    Delivered {
        #[serde(rename = "Records")]
        records: Vec<Value>,
    },
    /// <https://docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-errors.html>
    Failed {
        /// The batch as JSON text.
        payload: String,
    },
}

/// A change with its sequence number.
pub(crate) type Numbered = (String, Result<Record, UnreadableChange>);

pub(crate) fn read(event: Value) -> Result<Vec<Numbered>, Error> {
    let records = match serde_json::from_value(event)? {
        Batch::Delivered { records } => records,
        Batch::Failed { payload } => match serde_json::from_str(&payload)? {
            Batch::Delivered { records } => records,
            Batch::Failed { .. } => return Err("a failed batch within a failed batch".into()),
        },
    };
    records.into_iter().map(numbered).collect()
}

fn numbered(record: Value) -> Result<Numbered, Error> {
    let text = |pointer: &str| record.pointer(pointer).and_then(Value::as_str);
    // Without it, the failed change could not be reported to the stream.
    let sequence = text("/dynamodb/SequenceNumber").ok_or("a record without a sequence number")?;
    let key = |name: &str| {
        text(&format!("/dynamodb/Keys/{name}/S"))
            .unwrap_or_default()
            .to_owned()
    };
    let unreadable = UnreadableChange {
        sequence_number: sequence.to_owned(),
        pk: key("pk"),
        sk: key("sk"),
    };
    let decoded = serde_json::from_value(record).map(change);
    let decoded = decoded.ok().filter(|record| record.check().is_ok());
    Ok((
        unreadable.sequence_number.clone(),
        decoded.ok_or(unreadable),
    ))
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
