//! Details of failed attempts: one item each, valid only if the row refers to it. An item is never overwritten: the
//! first writer to end a claim's attempt is the one the row may refer to.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use postrider_domain::attempt::Attempt;
use postrider_domain::delivery::{Delivery, Status};
use postrider_domain::ids::{DeliveryId, TenantId};
use postrider_domain::outcome::{FailureKind, Phase};
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use serde::{Deserialize, Serialize};

use super::DynamoStore;
use super::calls::{Condition, Query, Table};
use super::item::{Item, from_item, s, seconds, to_item};
use super::keys::Key;
use super::packed;
use crate::fault::unreadable;

/// The largest item of an attempt: two write units.
const MAX_BYTES: usize = 2048;

/// The largest item for the failure that makes a previously failed row dead: one write unit, because moving the row in
/// the index of failed and dead rows takes two.
const MAX_LAST_BYTES: usize = 1024;

/// The attempt as it is packed on the row.
const PACKED: &str = "attempt";

/// How much of the error is kept; the rest of the item is for the response.
const ERROR_BYTES: usize = 512;

/// The fields that are not packed on the row.
#[derive(Serialize, Deserialize)]
struct Texts {
    version: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    phase: Option<Phase>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kind: Option<FailureKind>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    response_body: Option<String>,
}

impl DynamoStore {
    /// Writes the details of a failed attempt. A successful one has none.
    pub(super) async fn record(
        &self,
        before: &Delivery,
        after: &Delivery,
        attempt: &Attempt,
    ) -> Result<()> {
        if attempt.error.is_none() && attempt.response_body.is_none() {
            return Ok(());
        }
        let is_last = (before.status, after.status) == (Status::Failed, Status::Dead);
        let max_bytes = if is_last { MAX_LAST_BYTES } else { MAX_BYTES };
        let expires_at = self.retention.expires_at(after);
        let item = item(after, attempt, expires_at, max_bytes)?;
        let absent = Condition::new("attribute_not_exists(#pk)");
        self.put(Table::Deliveries, item, Some(absent)).await?;
        Ok(())
    }

    /// The last attempts of one row, oldest first.
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
        let mut texts = HashMap::new();
        for mut item in items.await? {
            let packed = item.remove(PACKED);
            let of: Texts = from_item(item, "an attempt")?;
            texts.insert(of.version, (packed, of));
        }
        let mut attempts = packed::unpack_all(&row).ok_or_else(|| unreadable("an attempt"))?;
        for attempt in &mut attempts {
            let named = row.get(&packed::slot(attempt.number));
            if let Some((packed, texts)) = texts.remove(&attempt.version)
                && packed.as_ref() == named
            {
                attempt.error = texts.error;
                attempt.kind = texts.kind;
                attempt.phase = texts.phase;
                attempt.response_body = texts.response_body;
            }
        }
        Ok(attempts)
    }
}

fn item(
    row: &Delivery,
    attempt: &Attempt,
    expires_at: Timestamp,
    max_bytes: usize,
) -> Result<Item> {
    let texts = Texts {
        version: attempt.version,
        error: attempt.error.as_deref().map(|text| cut(text, ERROR_BYTES)),
        phase: attempt.phase,
        kind: attempt.kind,
        response_body: None,
    };
    let mut item = to_item(&texts)?;
    item.extend(Key::attempt(&row.tenant, row.id, attempt.version).item());
    item.insert(PACKED.to_owned(), packed::pack(attempt));
    item.insert("expires_at".to_owned(), seconds(expires_at));
    if let Some(body) = &attempt.response_body {
        let name = "response_body";
        let left = max_bytes.saturating_sub(size(&item) + name.len());
        item.insert(name.to_owned(), s(cut(body, left)));
    }
    Ok(item)
}

/// An upper bound for the billed size of an item: names and values, where a number takes at most as many bytes as
/// digits.
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html>
fn size(item: &Item) -> usize {
    let value = |value: &AttributeValue| {
        let text = value.as_s().or_else(|_| value.as_n()).map(String::len);
        text.or_else(|_| value.as_b().map(|bytes| bytes.as_ref().len()))
            .unwrap_or(0)
    };
    item.iter().map(|(name, of)| name.len() + value(of)).sum()
}

/// The start of a text, at most `max` bytes, cut at a character boundary.
fn cut(text: &str, max: usize) -> String {
    let end = text.floor_char_boundary(max);
    text.get(..end).unwrap_or_default().to_owned()
}
