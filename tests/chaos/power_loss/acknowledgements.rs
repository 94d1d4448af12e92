//! What the gateway has acknowledged.

use std::collections::BTreeSet;

use postrider_domain::ids::DeliveryId;
use serde_json::Value;

use super::journal::Record;

#[derive(Clone, Debug, Default)]
pub(super) struct Acknowledged {
    pub(super) webhooks: BTreeSet<String>,
    pub(super) deliveries: BTreeSet<DeliveryId>,
}

impl Acknowledged {
    /// Adds what a response acknowledges.
    pub(super) fn add(&mut self, record: &Record) {
        let Record::Responded(response) = record else {
            return;
        };
        let Some(body) = body(response) else { return };
        if response.starts_with(b"HTTP/1.1 201") {
            let id = body["id"].as_str().filter(|id| id.starts_with("wh_"));
            self.webhooks.extend(id.map(str::to_owned));
        }
        if response.starts_with(b"HTTP/1.1 202") {
            let rows = body["deliveries"].as_array().into_iter().flatten();
            let ids = rows.filter_map(|row| row["id"].as_str());
            self.deliveries
                .extend(ids.map(|id| id.parse::<DeliveryId>().unwrap()));
        }
    }

    pub(super) fn webhook(&self) -> Option<&str> {
        self.webhooks.first().map(String::as_str)
    }

    pub(super) fn deliveries(&self) -> impl Iterator<Item = String> {
        self.deliveries.iter().map(ToString::to_string)
    }
}

fn body(response: &[u8]) -> Option<Value> {
    let end = response.windows(4).position(|four| four == b"\r\n\r\n")?;
    serde_json::from_slice(&response[end + 4..]).ok()
}
