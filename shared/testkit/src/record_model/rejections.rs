//! Rejected requests of sources, and how many there were.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::HeaderMap;
use postrider_domain::ids::{RejectedId, SourceId};
use postrider_domain::inbound::{Inbound, Rejection};
use postrider_domain::rejected::{
    KEPT_FOR, RING, RejectedRequest, RejectionCounts, StoredRejection,
};
use postrider_domain::source::Source;
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::rejected::RejectionBatch;
use proptest::prelude::*;

use super::Model;

/// How many minutes a flood lasts, and how many requests come in each: more than are stored of one source.
const FLOOD: (u32, u32) = (11, 11);
/// How many of the requests of a source are read one by one.
const READ: usize = 6;

#[derive(Clone, Debug)]
pub(super) enum RejectionCommand {
    Store {
        source: usize,
        count: u32,
    },
    /// More than are stored per minute, for minutes.
    Flood {
        source: usize,
    },
    /// Stores several at once and counts more, if the store can.
    StoreBatch {
        source: usize,
        count: u32,
        more: u64,
    },
    /// Removes old ones, if the store does not do it itself.
    Sweep,
}

pub(super) fn command() -> impl Strategy<Value = RejectionCommand> {
    let number = any::<usize>;
    prop_oneof![
        8 => (number(), 1..5_u32)
            .prop_map(|(source, count)| RejectionCommand::Store { source, count }),
        1 => number().prop_map(|source| RejectionCommand::Flood { source }),
        4 => (number(), 0..13_u32, 0..3_u64)
            .prop_map(|(source, count, more)| RejectionCommand::StoreBatch { source, count, more }),
        1 => Just(RejectionCommand::Sweep),
    ]
}

/// What is known about the rejected requests of a source.
#[derive(Default)]
struct Rejected {
    counts: RejectionCounts,
    /// All that were stored, oldest first.
    stored: Vec<StoredRejection>,
}

#[derive(Default)]
pub(super) struct Rejections {
    of: BTreeMap<SourceId, Rejected>,
    /// Those of sources that were deleted.
    gone: Vec<(SourceId, RejectedId)>,
}

impl Rejections {
    pub(super) fn forget(&mut self, source: SourceId) {
        let stored = self.of.remove(&source).unwrap_or_default().stored;
        self.gone.extend(stored.iter().map(|one| (source, one.id)));
    }
}

impl Rejected {
    fn take(&mut self, rejected: RejectedRequest) -> Option<RejectedId> {
        let (counts, place) = self.counts.with_one_more(rejected.at);
        self.counts = counts;
        let id = RejectedId::of(rejected.at, place?);
        self.stored.push(StoredRejection { id, rejected });
        Some(id)
    }

    fn shown(&self, now: Timestamp) -> Vec<&StoredRejection> {
        let is_shown = |one: &&StoredRejection| {
            let is_left = one.id.place() + RING >= self.counts.stored;
            is_left && one.rejected.at.plus(KEPT_FOR) > now
        };
        self.stored.iter().rev().filter(is_shown).collect()
    }
}

impl Model {
    pub(super) async fn do_with_rejections(
        &mut self,
        command: &RejectionCommand,
    ) -> Result<(), TestCaseError> {
        match *command {
            RejectionCommand::Store { source, count } => {
                let source = self.source_at(source).await?;
                self.reject(&source, count).await
            }
            RejectionCommand::Flood { source } => {
                let source = self.source_at(source).await?;
                let (minutes, per_minute) = FLOOD;
                for _ in 0..minutes {
                    self.reject(&source, per_minute).await?;
                    self.now = self.now.plus(Millis::from_seconds(60));
                }
                Ok(())
            }
            RejectionCommand::StoreBatch {
                source,
                count,
                more,
            } => self.store_batch(source, count, more).await,
            RejectionCommand::Sweep => self.sweep().await,
        }
    }

    /// Numbers choose among the sources, and create the first one.
    async fn source_at(&mut self, n: usize) -> Result<Source, TestCaseError> {
        if self.ours.sources.stored().is_empty() {
            self.create_source().await?;
        }
        let stored = self.ours.sources.stored();
        Ok(stored[n % stored.len()].clone())
    }

    fn rejected(&mut self, source: &Source) -> RejectedRequest {
        let n = self.draw();
        let request = Inbound {
            path: format!("/{n}"),
            ..Inbound::post(HeaderMap::new(), Bytes::from(format!("body {n}")))
        };
        let reason = Rejection::ALL[1 + n as usize % 5];
        RejectedRequest::of(source, request, reason, self.now)
    }

    async fn reject(&mut self, source: &Source, count: u32) -> Result<(), TestCaseError> {
        for _ in 0..count {
            let rejected = self.rejected(source);
            let known = self.ours.rejections.of.entry(source.id).or_default();
            let expected = known.take(rejected.clone());
            let stored = self.store().store_rejected(rejected).await;
            prop_assert_eq!(stored, Ok(expected));
        }
        Ok(())
    }

    async fn store_batch(
        &mut self,
        source: usize,
        count: u32,
        more: u64,
    ) -> Result<(), TestCaseError> {
        let Some(store) = self.handle().embedded.clone() else {
            return Ok(());
        };
        let source = self.source_at(source).await?;
        let first: Vec<_> = (0..count).map(|_| self.rejected(&source)).collect();
        let known = self.ours.rejections.of.entry(source.id).or_default();
        for rejected in &first {
            known.take(rejected.clone());
        }
        known.counts.counted += more;
        let batch = RejectionBatch {
            tenant: self.ours.tenant.clone(),
            source: source.id,
            first,
            more,
        };
        prop_assert_eq!(store.store_rejections(vec![batch]).await, Ok(()));
        Ok(())
    }

    async fn sweep(&self) -> Result<(), TestCaseError> {
        let Some(store) = self.handle().embedded.clone() else {
            return Ok(());
        };
        let before = self.now.minus(KEPT_FOR);
        while store.delete_old_rejections(before, 5).await.unwrap() > 0 {}
        Ok(())
    }

    pub(super) async fn compare_rejections(&self) -> Result<(), TestCaseError> {
        let (store, tenant, now) = (self.store(), &self.ours.tenant, self.now);
        for (source, rejected) in &self.ours.rejections.of {
            let counts = store.rejection_counts(tenant, *source).await;
            prop_assert_eq!(counts, Ok(rejected.counts));
            let shown = rejected.shown(now);
            for limit in [3, 1_000] {
                let found = store.rejections(tenant, *source, limit, now).await.unwrap();
                let expected = shown.iter().take(limit).copied();
                prop_assert!(found.iter().eq(expected), "rejections: {:?}", found);
            }
            let apart = rejected.stored.len() / READ + 1;
            for one in rejected.stored.iter().step_by(apart) {
                let found = store.rejected_request(tenant, *source, one.id, now).await;
                let found = found.unwrap();
                let expected = shown.iter().find(|shown| shown.id == one.id);
                prop_assert_eq!(found.as_ref(), expected.copied());
            }
            self.confuse_rejections(*source, rejected).await?;
        }
        for (source, id) in self.ours.rejections.gone.iter().rev().take(READ) {
            let found = store.rejected_request(tenant, *source, *id, now).await;
            prop_assert_eq!(found, Ok(None), "of a deleted source");
            let counts = store.rejection_counts(tenant, *source).await;
            prop_assert_eq!(counts, Ok(RejectionCounts::default()));
        }
        Ok(())
    }

    /// Under the other tenant, there is no such source.
    async fn confuse_rejections(
        &self,
        source: SourceId,
        rejected: &Rejected,
    ) -> Result<(), TestCaseError> {
        let (store, them, now) = (self.store(), &self.theirs.tenant, self.now);
        let counts = store.rejection_counts(them, source).await;
        prop_assert_eq!(counts, Ok(RejectionCounts::default()));
        let found = store.rejections(them, source, 10, now).await;
        prop_assert_eq!(found, Ok(Vec::new()));
        if let Some(last) = rejected.stored.last() {
            let found = store.rejected_request(them, source, last.id, now).await;
            prop_assert_eq!(found, Ok(None));
        }
        Ok(())
    }
}
