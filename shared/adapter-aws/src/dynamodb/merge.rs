//! The shards of an index as one list, newest first.

use std::collections::VecDeque;

use futures_util::future::try_join_all;
use postrider_domain::ids::TenantId;
use postrider_ports::Result;
use postrider_ports::history::ListIndex;

use super::DynamoStore;
use super::calls::{Condition, Order, Query, Table};
use super::item::{Item, n, s};
use super::keys::{self, Key};
use super::listing::Place;
use super::tables::Index;
use crate::fault::unreadable;

/// As many entries as the smallest read holds: fewer cost the same.
const LEAST_READ: usize = 20;

/// What a list goes through.
pub(super) struct Wanted<'a> {
    /// Whose rows.
    pub(super) tenant: &'a TenantId,
    /// By which index.
    pub(super) index: ListIndex<'a>,
    /// Accepted at or after.
    pub(super) from: i64,
    /// Accepted at or before.
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

    /// The value that a shard of the index is found by.
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

/// What is known of one shard.
struct Shard {
    number: u16,
    /// Read and not yet taken, newest first.
    read: VecDeque<Place>,
    /// Accepted at or before.
    to: i64,
    after: Option<Item>,
    ended: bool,
}

impl Shard {
    /// The shard from where the list ended before.
    fn from(wanted: &Wanted<'_>, number: u16, ended: Option<Place>) -> Self {
        let mut shard = Self {
            number,
            read: VecDeque::new(),
            to: wanted.to,
            after: None,
            ended: false,
        };
        if let Some(place) = ended {
            let newest = if number < place.shard {
                place.created_at.saturating_sub(1)
            } else {
                place.created_at
            };
            shard.to = shard.to.min(newest);
            if number == place.shard {
                let mut last = Key::delivery(wanted.tenant, place.id).item();
                let index = wanted.index();
                last.insert(index.hash().to_owned(), s(wanted.hash(number)));
                last.insert(index.range().to_owned(), n(place.created_at));
                shard.after = Some(last);
            }
        }
        // Bounds that lie the other way round are refused by AWS.
        shard.ended = shard.to < wanted.from;
        shard
    }

    fn is_dry(&self) -> bool {
        self.read.is_empty() && !self.ended
    }
}

/// A list under way.
pub(super) struct Merge<'a> {
    wanted: Wanted<'a>,
    shards: Vec<Shard>,
}

impl<'a> Merge<'a> {
    /// The list from where it ended before.
    pub(super) fn from(wanted: Wanted<'a>, shards: u16, ended: Option<Place>) -> Self {
        let shards = (0..shards).map(|number| Shard::from(&wanted, number, ended));
        Self {
            shards: shards.collect(),
            wanted,
        }
    }

    /// Whether it is known that nothing follows.
    pub(super) fn is_at_its_end(&self) -> bool {
        let mut shards = self.shards.iter();
        shards.all(|shard| shard.ended && shard.read.is_empty())
    }

    /// Takes the newest entry; no shard may be dry. Of equally new ones that of the first shard.
    fn pop(&mut self) -> Option<Place> {
        let newest = |shard: &&mut Shard| shard.read.front().map(|place| place.created_at);
        let filled = self
            .shards
            .iter_mut()
            .filter(|shard| !shard.read.is_empty());
        // `max_by_key` gives the last of equals.
        filled.rev().max_by_key(newest)?.read.pop_front()
    }
}

impl DynamoStore {
    /// The next entries of the list; fewer than asked for only at its end.
    pub(super) async fn next_places(
        &self,
        merge: &mut Merge<'_>,
        count: usize,
    ) -> Result<Vec<Place>> {
        let each = count.div_ceil(merge.shards.len().max(1)).max(LEAST_READ);
        let mut taken = Vec::with_capacity(count);
        while taken.len() < count {
            while merge.shards.iter().any(Shard::is_dry) {
                let Merge { wanted, shards } = merge;
                let dry = shards.iter_mut().filter(|shard| shard.is_dry());
                try_join_all(dry.map(|shard| self.read_on(wanted, shard, each))).await?;
            }
            match merge.pop() {
                Some(place) => taken.push(place),
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
            shard.read.push_back(place(entry, index, shard.number)?);
        }
        shard.ended = found.next.is_none();
        shard.after = found.next;
        Ok(())
    }
}

fn place(entry: &Item, index: Index, shard: u16) -> Result<Place> {
    let created_at = entry.get(index.range()).and_then(|value| value.as_n().ok());
    let created_at = created_at.and_then(|text| text.parse().ok());
    let (_, id) = Key::of(entry)?.as_delivery()?;
    Ok(Place {
        created_at: created_at.ok_or_else(|| unreadable(index.range()))?,
        shard,
        id,
    })
}
