//! An event as EventBridge hands it to a function.
//! <https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-events-structure.html>

use bytes::Bytes;
use postrider_domain::event::Origin;
use postrider_gateway::ingest::EventDraft;
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
pub(crate) struct BusEvent<'a> {
    /// The same whenever EventBridge delivers the event again.
    pub(crate) id: String,
    #[serde(rename = "detail-type")]
    detail_type: String,
    #[serde(borrow)]
    detail: &'a RawValue,
}

impl<'a> BusEvent<'a> {
    /// # Errors
    /// If the text is not an event of a bus. The reason never repeats a value.
    pub(crate) fn read(text: &'a str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            format!("not an EventBridge event: line {line}, column {column}")
        })
    }

    pub(crate) fn draft(&self) -> EventDraft {
        EventDraft {
            event_type: self.event_type(),
            body: Bytes::copy_from_slice(self.detail.get().as_bytes()),
            content_type: "application/json".to_owned(),
            session_id: None,
            webhook_id: None,
            origin: Origin::Api,
        }
    }

    /// The detail type with each run of white space replaced by `_`. AWS services put spaces into theirs, which an event type
    /// cannot have.
    fn event_type(&self) -> String {
        let words: Vec<&str> = self.detail_type.split_whitespace().collect();
        words.join("_")
    }
}
