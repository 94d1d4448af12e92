//! Sets aside rows that there is no turn for, and frees those that wait for nothing but a turn.

use std::collections::BTreeSet;

use futures_util::future::join;
use futures_util::{StreamExt, TryStreamExt, stream};
use postrider_domain::delivery::Delivery;
use postrider_domain::flow::AttemptKind;
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::pace::Asked;
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::pace::Pacing;
use postrider_ports::queue::AttemptMessage;

use super::DynamoStore;
use super::backlog::{due_between, message};
use super::calls::{Change, Order, Query, Table};
use super::chores::Chore;
use super::item::{ms, n, s};
use super::keys::{self, Key};
use super::state::State;
use super::tables::Index;
use super::{row, webhook_item};

/// How many shards, and rows, one call processes concurrently.
const AT_ONCE: usize = 16;

/// How many more entries than needed are read per shard: the index may still list rows that were just freed.
const STALE: usize = 16;
/// How much further each read goes when the rows of the last one had already been freed.
const FURTHER: usize = 4;

/// After every row.
const END_OF_TIME: Timestamp = Timestamp::from_millis(i64::MAX);

/// How many rows may be freed, and until when turns are given to them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    pub(super) limit: usize,
    pub(super) until: Timestamp,
}

#[derive(Clone, Copy, Debug)]
enum Freeing {
    /// An active webhook: with turns, as many as there are.
    ByTurns(Asked),
    /// A deleted webhook: immediately, to be ended.
    AtOnce(usize),
}

impl DynamoStore {
    /// Parks rows until there is a turn for them, unless they are closed, held, parked or have changed since. Their
    /// webhooks are marked first, so that every parked row will be found.
    pub(super) async fn set_aside_all(
        &self,
        rows: Vec<AttemptMessage>,
        now: Timestamp,
    ) -> Result<()> {
        let webhooks = rows
            .iter()
            .map(|message| (&message.tenant, message.id.webhook));
        for (tenant, webhook) in webhooks.collect::<BTreeSet<_>>() {
            self.mark(Chore::Release, tenant, webhook, now).await?;
        }
        let each: Vec<_> = rows
            .into_iter()
            .map(|message| self.set_one_aside(message, now))
            .collect();
        let done: Vec<Result<()>> = stream::iter(each).buffered(AT_ONCE).collect().await;
        done.into_iter().collect()
    }

    async fn set_one_aside(&self, message: AttemptMessage, now: Timestamp) -> Result<()> {
        let unmoved =
            row::is_free("#next_retry_at = :seen", now).with("seen", ms(message.next_retry_at));
        let shard = keys::shard_of(message.id, self.shards);
        let lane = keys::backlog(message.id.webhook, AttemptKind::First, shard);
        let change = Change::of(
            Table::Deliveries,
            Key::delivery(&message.tenant, message.id),
        )
        .set("lane", s(lane))
        .set("changed_at", ms(now))
        .set("lease_until", n(0))
        .remove("lease_owner")
        .add("version", n(1));
        self.change(change.only_if(unmoved)).await?;
        Ok(())
    }

    /// Frees parked rows of a webhook in this state, longest due first. Returns how many the index still listed.
    pub(super) async fn free(
        &self,
        webhook: (&TenantId, WebhookId),
        state: Option<&State>,
        room: Room,
        now: Timestamp,
        freed: &mut Vec<AttemptMessage>,
    ) -> Result<usize> {
        let freeing = match state.map(|state| state.health.status.parks()) {
            Some(true) => return Ok(0),
            Some(false) => self.by_turns(webhook, room, now).await?,
            None => Freeing::AtOnce(room.limit),
        };
        let (Freeing::ByTurns(Asked { count: limit, .. }) | Freeing::AtOnce(limit)) = freeing;
        let (tenant, id) = webhook;
        // Look for a row in any case: without a turn, or with the limit used up, a marker must not be considered done
        // while rows remain.
        let to_read = if limit == 0 { 1 } else { limit + STALE };
        let kinds = [AttemptKind::First, AttemptKind::Retry].into_iter();
        let shards = kinds.flat_map(|kind| {
            (0..self.shards).map(move |shard| self.parked(id, kind, shard, to_read))
        });
        let shards = stream::iter(shards.collect::<Vec<_>>()).buffered(AT_ONCE);
        let found: Vec<Vec<AttemptMessage>> = shards.try_collect().await?;
        // Webhook ids are unique, but this does not rely on it: rows of another tenant are left alone.
        let mut messages: Vec<_> = found
            .into_iter()
            .flatten()
            .filter(|message| message.tenant == *tenant)
            .collect();
        messages.sort_by_key(|message| (message.next_retry_at, message.id));
        let count = messages.len();
        let rows = self.first_parked(&messages, limit).await?;
        let free = self.with_turns(webhook, freeing, rows, now).await?;
        let each: Vec<_> = free
            .into_iter()
            .map(|(before, after)| self.unpark(before, after, now))
            .collect();
        let unparked: Vec<_> = stream::iter(each).buffered(AT_ONCE).collect().await;
        // Freed rows are reported, whatever happened to the others.
        let mut result = Ok(count);
        for one in unparked {
            match one {
                Ok(message) => freed.extend(message),
                Err(error) => result = Err(error),
            }
        }
        result
    }

    /// How many turns an active webhook's pace has, before any row is read for them.
    async fn by_turns(
        &self,
        (tenant, webhook): (&TenantId, WebhookId),
        room: Room,
        now: Timestamp,
    ) -> Result<Freeing> {
        let key = Key::webhook(tenant, webhook);
        let settings = self.get(Table::Configs, &key);
        let (settings, pace) = join(settings, self.pace(tenant, webhook)).await;
        let Some(item) = settings? else {
            // It was just deleted.
            return Ok(Freeing::AtOnce(room.limit));
        };
        let asked = Asked {
            count: room.limit,
            per_second: webhook_item::outline(item)?.retry_rate,
            until: room.until,
        };
        let (available, _) = pace?.reserve(asked, now);
        Ok(Freeing::ByTurns(Asked {
            count: available.turns.len(),
            ..asked
        }))
    }

    async fn parked(
        &self,
        webhook: WebhookId,
        kind: AttemptKind,
        shard: u16,
        limit: usize,
    ) -> Result<Vec<AttemptMessage>> {
        let lane = keys::backlog(webhook, kind, shard);
        let query = Query {
            table: Table::Deliveries,
            index: Some(Index::Due),
            keys: due_between(&lane, Timestamp::ZERO, END_OF_TIME),
            order: Order::Ascending,
            limit: Some(limit),
            after: None,
        };
        self.query(query).await?.items.iter().map(message).collect()
    }

    /// The first rows that are really parked, at most `limit`. Reads no more than that, unless some were already freed.
    async fn first_parked(
        &self,
        mut messages: &[AttemptMessage],
        limit: usize,
    ) -> Result<Vec<Delivery>> {
        let (mut rows, mut look_at) = (Vec::new(), limit);
        while rows.len() < limit && !messages.is_empty() {
            let (next, others) = messages.split_at(look_at.min(messages.len()));
            rows.extend(self.still_parked(next).await?);
            messages = others;
            look_at = look_at.saturating_mul(FURTHER);
        }
        rows.truncate(limit);
        Ok(rows)
    }

    /// The rows that are really parked, longest due first: the index lags, and no turn should be wasted. A row that
    /// cannot be read is logged and left in place.
    async fn still_parked(&self, messages: &[AttemptMessage]) -> Result<Vec<Delivery>> {
        let keys = messages.iter().map(|message| {
            (
                Table::Deliveries,
                Key::delivery(&message.tenant, message.id),
            )
        });
        let mut rows = Vec::with_capacity(messages.len());
        for (_, item) in self.get_all(keys.collect()).await? {
            match row::delivery(item) {
                Ok(row) => rows.push(row),
                Err(error) => {
                    tracing::warn!(event = "store.release_failed", %error, "a delivery on hold could not be read");
                }
            }
        }
        rows.retain(|row| row.parked);
        rows.sort_by_key(|row| (row.next_retry_at, row.id));
        Ok(rows)
    }

    /// Pairs of a row before and after being freed.
    async fn with_turns(
        &self,
        (tenant, webhook): (&TenantId, WebhookId),
        freeing: Freeing,
        rows: Vec<Delivery>,
        now: Timestamp,
    ) -> Result<Vec<(Delivery, Delivery)>> {
        let asked = match freeing {
            Freeing::AtOnce(_) => {
                let at_once = |row: Delivery| (row.clone(), row.unpark());
                return Ok(rows.into_iter().map(at_once).collect());
            }
            Freeing::ByTurns(_) if rows.is_empty() => return Ok(Vec::new()),
            Freeing::ByTurns(asked) => Asked {
                count: rows.len(),
                ..asked
            },
        };
        let given = self.reserve(tenant, webhook, asked, now).await?;
        let turned = rows.into_iter().zip(given.turns);
        Ok(turned
            .map(|(row, turn)| (row.clone(), row.unpark_at(turn)))
            .collect())
    }

    async fn unpark(
        &self,
        before: Delivery,
        after: Delivery,
        now: Timestamp,
    ) -> Result<Option<AttemptMessage>> {
        let change = row::replace(&after, self.around(now))?;
        let changed = self.change(change.only_if(row::unchanged(&before))).await?;
        Ok(changed.map(|_| AttemptMessage::of_released(&before, &after)))
    }
}
