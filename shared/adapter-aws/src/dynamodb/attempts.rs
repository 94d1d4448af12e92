//! Details of failed attempts: one item each, valid only if the row refers to it. An item is never overwritten: the
//! first writer to end a claim's attempt is the one the row may refer to.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use postrider_domain::attempt::Attempt;
use postrider_domain::delivery::Delivery;
use postrider_domain::ids::{DeliveryId, TenantId};
use postrider_domain::outcome::{FailureKind, Phase};
use postrider_domain::time::Timestamp;
use postrider_ports::{Error, Result};
use serde::{Deserialize, Serialize};

use super::DynamoStore;
use super::calls::{Condition, Query, Table};
use super::deflated::{Stored, take_restored};
use super::expiry::LONGER;
use super::item::{Item, n, seconds};
use super::keys::{ATTEMPT_PREFIX, Key};
use super::packed;
use crate::fault::unreadable;

/// The largest item of an attempt: one write unit.
const MAX_BYTES: usize = 1024;

/// The largest size of the texts when they are read back: far more than can be stored.
const MAX_TEXTS_BYTES: usize = 64 * 1024;

/// The attempt as it is packed on the row.
const PACKED: &str = "attempt";

/// The version at the claim, which the row refers to.
const VERSION: &str = "version";

/// JSON: the [`Texts`].
const TEXTS: &str = "texts";

/// How much of the error is kept; the rest of the item is for the response.
const ERROR_BYTES: usize = 512;

/// The fields that are not packed on the row.
#[derive(Serialize, Deserialize)]
struct Texts {
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
    pub(super) async fn record(&self, row: &Delivery, attempt: &Attempt) -> Result<()> {
        if attempt.error.is_none() && attempt.response_body.is_none() {
            return Ok(());
        }
        let item = item(row, attempt, self.details_expire_at(row))?;
        let absent = Condition::new("attribute_not_exists(#pk)");
        self.put(Table::Deliveries, item, Some(absent)).await?;
        Ok(())
    }

    /// Nothing prolongs the details of an attempt, so those of a row that will be attempted again are stored for longer than
    /// it needs them now.
    fn details_expire_at(&self, row: &Delivery) -> Timestamp {
        let needed_until = self.needed_until(row);
        if row.status.is_open() {
            needed_until.plus(LONGER)
        } else {
            needed_until
        }
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
        let prefix = format!("{ATTEMPT_PREFIX}{}#", id.webhook);
        let items = self.query_all(Query::prefix(Table::Deliveries, key.pk, &prefix));
        let mut texts = HashMap::new();
        for mut item in items.await? {
            let version = item.get(VERSION).and_then(|version| version.as_n().ok());
            let version: Option<u64> = version.and_then(|version| version.parse().ok());
            let version = version.ok_or_else(|| unreadable(VERSION))?;
            let json = take_restored(&mut item, TEXTS, MAX_TEXTS_BYTES)?;
            let of: Texts = serde_json::from_slice(&json).map_err(|_| unreadable(TEXTS))?;
            texts.insert(version, (item.remove(PACKED), of));
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

fn item(row: &Delivery, attempt: &Attempt, expires_at: Timestamp) -> Result<Item> {
    let mut item = Key::attempt(&row.tenant, row.id, attempt.version).item();
    item.insert(VERSION.to_owned(), n(attempt.version));
    item.insert(PACKED.to_owned(), packed::pack(attempt));
    item.insert("expires_at".to_owned(), seconds(expires_at));
    let name_bytes = TEXTS.len() + "_z".len();
    let room = MAX_BYTES.saturating_sub(size(&item) + name_bytes);
    texts(attempt, room)?.put(&mut item, TEXTS);
    Ok(item)
}

/// The texts, with as much of the response as fits.
fn texts(attempt: &Attempt, room: usize) -> Result<Stored> {
    let mut texts = Texts {
        error: attempt.error.as_deref().map(|text| cut(text, ERROR_BYTES)),
        phase: attempt.phase,
        kind: attempt.kind,
        response_body: attempt.response_body.clone(),
    };
    loop {
        let json = serde_json::to_vec(&texts);
        let stored = Stored::of(&json.map_err(|error| Error::Broken(error.to_string()))?);
        let kept = texts.response_body.as_ref().map_or(0, String::len);
        if stored.len() <= room || kept == 0 {
            return Ok(stored);
        }
        // About in proportion; the last part makes sure that it ends.
        let kept = (kept * room / stored.len()).saturating_sub(1 + kept / 32);
        texts.response_body = texts.response_body.map(|body| cut(&body, kept));
    }
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

#[cfg(test)]
mod tests {
    use postrider_domain::attempt::Verdict;
    use postrider_domain::outcome::{Answer, KEPT_BODY_BYTES, Outcome, Response, Timings};
    use proptest::prelude::*;

    use super::*;

    fn failed(body: String) -> Attempt {
        let outcome = Outcome {
            result: Answer::Response(Response {
                status: 503,
                retry_after: None,
                control: None,
                content_type: None,
                body,
            }),
            timings: Timings::default(),
        };
        Attempt::record(1, 1, Timestamp::ZERO, &outcome, Verdict::Failure)
    }

    fn there_and_back(attempt: &Attempt, room: usize) -> Texts {
        let stored = texts(attempt, room).unwrap();
        assert!(stored.len() <= room, "{}", stored.len());
        serde_json::from_slice(&stored.restore(MAX_TEXTS_BYTES).unwrap()).unwrap()
    }

    #[test]
    fn the_longest_response_of_plain_words_is_kept_whole() {
        let body: String = (0..)
            .map(|n| format!("<tr><td>upstream {n}</td><td>connection refused</td></tr>"))
            .scan(0, |bytes, line: String| {
                *bytes += line.len();
                (*bytes <= KEPT_BODY_BYTES).then_some(line)
            })
            .collect();
        assert!(body.len() > KEPT_BODY_BYTES - 70);
        let kept = there_and_back(&failed(body.clone()), 800);
        assert_eq!(kept.response_body, Some(body));
    }

    proptest! {
        #[test]
        fn of_any_response_as_much_is_kept_as_fits(
            body in proptest::collection::vec(any::<char>(), 0..KEPT_BODY_BYTES)
        ) {
            let attempt = failed(body.into_iter().collect());
            let whole = attempt.response_body.clone().unwrap_or_default();
            let kept = there_and_back(&attempt, 800).response_body.unwrap_or_default();
            prop_assert!(whole.starts_with(&kept));
            prop_assert!(kept.len() >= whole.len().min(500));
        }
    }
}
