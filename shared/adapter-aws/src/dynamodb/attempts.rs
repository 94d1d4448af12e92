//! What failed attempts got: an item each, which counts only if the row names it.

use std::collections::HashMap;

use postrider_domain::attempt::Attempt;
use postrider_domain::delivery::Delivery;
use postrider_domain::ids::{DeliveryId, TenantId};
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use serde::{Deserialize, Serialize};

use super::DynamoStore;
use super::calls::{Query, Table};
use super::item::{Item, from_item, to_item};
use super::keys::Key;
use super::packed;
use crate::fault::unreadable;

/// The largest item of an attempt: two write units.
const MAX_BYTES: usize = 2048;

/// How much of the reason is kept; the rest is for the response.
const ERROR_BYTES: usize = 512;

/// What is not packed on the row.
#[derive(Serialize, Deserialize)]
struct Texts {
    version: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    phase: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    response_body: Option<String>,
}

impl DynamoStore {
    /// Writes what a failed attempt got. Nothing to write for a delivered one.
    pub(super) async fn record(
        &self,
        row: &Delivery,
        attempt: &Attempt,
        expires_at: Timestamp,
    ) -> Result<()> {
        if attempt.error.is_none() && attempt.response_body.is_none() {
            return Ok(());
        }
        let item = item(row, attempt, expires_at)?;
        self.put(Table::Deliveries, item, None).await?;
        Ok(())
    }

    /// The last attempts of one row, the first one first.
    pub(super) async fn attempts_of(
        &self,
        tenant: &TenantId,
        id: DeliveryId,
    ) -> Result<Vec<Attempt>> {
        let key = Key::delivery(tenant, id);
        let Some(row) = self.get(Table::Deliveries, &key).await? else {
            return Ok(Vec::new());
        };
        let prefix = format!("attempt#{}#", id.webhook);
        let items = self.query_all(Query::prefix(Table::Deliveries, key.pk, &prefix));
        let texts = items.await?.into_iter().map(|item| {
            let texts: Texts = from_item(item, "an attempt")?;
            Ok((texts.version, texts))
        });
        let mut texts = texts.collect::<Result<HashMap<_, _>>>()?;
        let mut attempts = packed::unpack_all(&row).ok_or_else(|| unreadable("an attempt"))?;
        for attempt in &mut attempts {
            if let Some(texts) = texts.remove(&attempt.version) {
                attempt.error = texts.error;
                attempt.phase = texts.phase;
                attempt.response_body = texts.response_body;
            }
        }
        Ok(attempts)
    }
}

fn item(row: &Delivery, attempt: &Attempt, expires_at: Timestamp) -> Result<Item> {
    let texts = Texts {
        version: attempt.version,
        error: attempt.error.as_deref().map(|text| cut(text, ERROR_BYTES)),
        phase: attempt.phase.clone(),
        response_body: None,
    };
    let mut item = to_item(&texts)?;
    item.extend(Key::attempt(&row.tenant, row.id, attempt.version).item());
    item.insert("expires_at".to_owned(), super::item::seconds(expires_at));
    if let Some(body) = &attempt.response_body {
        let name = "response_body";
        let left = MAX_BYTES.saturating_sub(size(&item) + name.len());
        item.insert(name.to_owned(), super::item::s(cut(body, left)));
    }
    Ok(item)
}

/// What an item of texts and numbers is billed by: names and values, a number at the most a byte for two digits and one.
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html>
fn size(item: &Item) -> usize {
    let value = |value: &aws_sdk_dynamodb::types::AttributeValue| {
        let text = value.as_s().or_else(|_| value.as_n());
        text.map_or(0, String::len)
    };
    item.iter().map(|(name, of)| name.len() + value(of)).sum()
}

/// The start of a text, at most `max` bytes, never in the middle of a character.
fn cut(text: &str, max: usize) -> String {
    let end = text.floor_char_boundary(max);
    text.get(..end).unwrap_or_default().to_owned()
}
