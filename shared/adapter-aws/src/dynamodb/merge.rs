//! The shards of an index merged into one list, newest first.

use std::collections::VecDeque;

use futures_util::future::try_join_all;
use postrider_domain::ids::TenantId;
use postrider_ports::Result;
use postrider_ports::history::ListIndex;

use super::DynamoStore;
use super::calls::{Condition, Order, Query, Table};
use super::item::{Item, n, s};
use super::keys::{self, Key};
use super::listing::Position;
use super::tables::Index;
use crate::fault::unreadable;

/// As many entries as fit into the smallest billed read: fewer cost the same.
const LEAST_READ: usize = 20;

/// Which entries a list covers.
pub(super) struct Wanted<'a> {
    pub(super) tenant: &'a TenantId,
    pub(super) index: ListIndex<'a>,
    /// Accepted at or after this time.
    pub(super) from: i64,
    /// Accepted at or before this time.
    pub(super) to: i64,
}

impl Wanted<'_> {
    fn index(&self) -> Index {
        match self.index {
            ListIndex::Trouble(_) => Index::Trouble,
            ListIndex::Session(_) => Index::BySession,
            ListIndex::Webhook(_) => Index::ByWebhook,
            ListIndex::Recent => Index::Recent,
        }
    }

    /// The partition of a shard of the index.
    fn hash(&self, shard: u16) -> String {
        match self.index {
            ListIndex::Trouble(status) => {
                keys::trouble(self.tenant, status, shard).unwrap_or_default()
            }
            ListIndex::Session(session) => keys::by_session(self.tenant, session, shard),
            ListIndex::Webhook(webhook) => keys::by_webhook(self.tenant, webhook, shard),
            ListIndex::Recent => keys::recent(self.tenant, shard),
        }
    }
}

/// The progress in one shard.
struct Shard {
    number: u16,
    /// Read but not yet taken, newest first.
    read: VecDeque<Position>,
    /// Accepted at or before this time.
    to: i64,
    after: Option<Item>,
    ended: bool,
}

impl Shard {
    /// Continues a shard where the list ended before.
    fn from(wanted: &Wanted<'_>, number: u16, ended: Option<Position>) -> Self {
        let mut shard = Self {
            number,
            read: VecDeque::new(),
            to: wanted.to,
            after: None,
            ended: false,
        };
        if let Some(position) = ended {
            let newest = if number < position.shard {
                position.created_at.saturating_sub(1)
            } else {
                position.created_at
            };
            shard.to = shard.to.min(newest);
            if number == position.shard {
                let mut last = Key::delivery(wanted.tenant, position.id).item();
                let index = wanted.index();
                last.insert(index.hash().to_owned(), s(wanted.hash(number)));
                last.insert(index.range().to_owned(), n(position.created_at));
                shard.after = Some(last);
            }
        }
        // AWS rejects bounds in reverse order.
        shard.ended = shard.to < wanted.from;
        shard
    }

    fn is_dry(&self) -> bool {
        self.read.is_empty() && !self.ended
    }
}

pub(super) struct Merge<'a> {
    wanted: Wanted<'a>,
    shards: Vec<Shard>,
}

impl<'a> Merge<'a> {
    /// Continues a list where it ended before.
    pub(super) fn from(wanted: Wanted<'a>, ended: Option<Position>) -> Self {
        let shards = (0..keys::SHARDS).map(|number| Shard::from(&wanted, number, ended));
        Self {
            shards: shards.collect(),
            wanted,
        }
    }

    /// Whether nothing more follows.
    pub(super) fn is_at_its_end(&self) -> bool {
        let mut shards = self.shards.iter();
        shards.all(|shard| shard.ended && shard.read.is_empty())
    }

    /// Takes the newest entry; no shard may be dry. Of equally new entries, the one in the first shard comes first.
    fn pop(&mut self) -> Option<Position> {
        let newest = |shard: &&mut Shard| shard.read.front().map(|position| position.created_at);
        let filled = self
            .shards
            .iter_mut()
            .filter(|shard| !shard.read.is_empty());
        // `max_by_key` returns the last of equal elements.
        filled.rev().max_by_key(newest)?.read.pop_front()
    }
}

impl DynamoStore {
    /// The next entries of the list; fewer than requested only at its end.
    pub(super) async fn next_positions(
        &self,
        merge: &mut Merge<'_>,
        count: usize,
    ) -> Result<Vec<Position>> {
        let each = count.div_ceil(merge.shards.len().max(1)).max(LEAST_READ);
        let mut taken = Vec::with_capacity(count);
        while taken.len() < count {
            while merge.shards.iter().any(Shard::is_dry) {
                let Merge { wanted, shards } = merge;
                let dry = shards.iter_mut().filter(|shard| shard.is_dry());
                try_join_all(dry.map(|shard| self.read_on(wanted, shard, each))).await?;
            }
            match merge.pop() {
                Some(position) => taken.push(position),
                None => break,
            }
        }
        Ok(taken)
    }

    async fn read_on(&self, wanted: &Wanted<'_>, shard: &mut Shard, count: usize) -> Result<()> {
        let index = wanted.index();
        let keys = format!(
            "#{} = :hash AND #{} BETWEEN :from AND :to",
            index.hash(),
            index.range()
        );
        let keys = Condition::new(&keys)
            .with("hash", s(wanted.hash(shard.number)))
            .with("from", n(wanted.from))
            .with("to", n(shard.to));
        let query = Query {
            table: Table::Deliveries,
            index: Some(index),
            keys,
            order: Order::Descending,
            limit: Some(count),
            after: shard.after.take(),
        };
        let found = self.query(query).await?;
        for entry in &found.items {
            shard.read.push_back(position(entry, index, shard.number)?);
        }
        shard.ended = found.next.is_none();
        shard.after = found.next;
        Ok(())
    }
}

fn position(entry: &Item, index: Index, shard: u16) -> Result<Position> {
    let created_at = entry.get(index.range()).and_then(|value| value.as_n().ok());
    let created_at = created_at.and_then(|text| text.parse().ok());
    let (_, id) = Key::of(entry)?.as_delivery()?;
    Ok(Position {
        created_at: created_at.ok_or_else(|| unreadable(index.range()))?,
        shard,
        id,
    })
}
