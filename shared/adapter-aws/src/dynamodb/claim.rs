//! Claims rows and renews their leases.

use futures_util::StreamExt;
use futures_util::stream;
use postrider_domain::delivery::{Claimed, Delivery, Unclaimable};
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::deliveries::{Claim, ClaimedDelivery, Renewed, SeenRow, Wanted};

use super::DynamoStore;
use super::calls::{Change, Condition, Table};
use super::events_in_use::Loaded;
use super::item::{ms, n, s};
use super::keys::Key;
use super::row::{self, Surroundings};
use super::state::State;
use crate::fault;

/// How many rows one call processes concurrently.
const AT_ONCE: usize = 16;

/// How many times a claim starts over after the row or webhook changed under it.
const TRIES: usize = 5;

/// What reading a row showed.
enum Looked {
    Answered(Claim),
    Free(Box<Delivery>),
}

/// What a claim has to know about the webhook of its row.
#[derive(Clone, Copy, Debug)]
enum Standing {
    Active { generation: u32 },
    Stopped,
    Deleted,
}

impl Standing {
    const fn of(state: Option<&State>) -> Self {
        match state {
            None => Self::Deleted,
            Some(state) if state.health.status.is_stopped() => Self::Stopped,
            Some(state) => Self::Active {
                generation: state.health.generation,
            },
        }
    }
}

/// Where a claimer finds its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// By a queue message. Rows in a backlog are left to its drainer.
    Message,
    /// By draining a backlog.
    Backlog,
}

impl DynamoStore {
    pub(super) async fn claim_all(
        &self,
        wanted: Vec<Wanted>,
        source: Source,
        now: Timestamp,
    ) -> Vec<Result<Claim>> {
        let unseen = wanted.iter().filter(|one| one.seen.generation.is_none());
        let unseen = unseen.map(|one| (one.tenant.clone(), one.id.webhook));
        let states = match self.states(unseen.collect::<Vec<_>>()).await {
            Ok(states) => states,
            Err(error) => return wanted.iter().map(|_| Err(error.clone())).collect(),
        };
        let claim = |one: Wanted| {
            let webhook = (one.tenant.clone(), one.id.webhook);
            let standing = match one.seen.generation {
                Some(generation) => Standing::Active { generation },
                None => Standing::of(states.get(&webhook)),
            };
            self.claim_one(one, source, standing, now)
        };
        let claims: Vec<_> = wanted.into_iter().map(claim).collect();
        stream::iter(claims).buffered(AT_ONCE).collect().await
    }

    async fn claim_one(
        &self,
        wanted: Wanted,
        source: Source,
        mut standing: Standing,
        now: Timestamp,
    ) -> Result<Claim> {
        for _ in 0..TRIES {
            let answer = match standing {
                Standing::Deleted => self.ended_delivery(&wanted, source, now).await?,
                Standing::Stopped => self.put_on_hold(&wanted, source, now).await?,
                Standing::Active { generation } => {
                    self.hold(&wanted, source, generation, now).await?
                }
            };
            let Some(claim) = answer else {
                let state = self.state(&wanted.tenant, wanted.id.webhook).await?;
                standing = Standing::of(state.as_ref());
                continue;
            };
            return Ok(claim);
        }
        Err(fault::contended("the row"))
    }

    /// Claims a row of an active webhook in one write that touches no index.
    async fn hold(
        &self,
        wanted: &Wanted,
        source: Source,
        generation: u32,
        now: Timestamp,
    ) -> Result<Option<Claim>> {
        let condition = match wanted.seen.row {
            SeenRow::Accepted => row::is_fresh("#next_retry_at <= :now", now),
            SeenRow::Read => is_claimable(wanted, source, now),
        };
        let change = Change::of(Table::Deliveries, Key::delivery(&wanted.tenant, wanted.id))
            .set("lease_owner", s(row::owner(&wanted.lease.owner)))
            .set("lease_until", ms(wanted.lease.until))
            .set("generation", n(generation))
            .add("version", n(1))
            .only_if(condition);
        let Some(item) = self.change(change).await? else {
            return match self.look(wanted, source, now).await? {
                Looked::Answered(claim) => Ok(Some(claim)),
                Looked::Free(_) => Ok(None),
            };
        };
        // The row is now held under this lease, and a claim repeated by its owner succeeds.
        match row::delivery(item)?.claim(&wanted.lease, now) {
            Ok(claimed) => self.hand_over(claimed, now).await.map(Some),
            Err(why) => Ok(Some(Claim::Unclaimable(why))),
        }
    }

    /// Moves the row of a stopped webhook to its backlog. Stopping registered the backlog, and resuming does so again: a
    /// row that arrives there late is found.
    async fn put_on_hold(
        &self,
        wanted: &Wanted,
        source: Source,
        now: Timestamp,
    ) -> Result<Option<Claim>> {
        let row = match self.look(wanted, source, now).await? {
            Looked::Answered(claim) => return Ok(Some(claim)),
            Looked::Free(row) => row,
        };
        let on_hold = Some(Claim::Unclaimable(Unclaimable::InBacklog));
        match source {
            Source::Backlog => Ok(on_hold),
            Source::Message => {
                let moved = self.replace_row(&row.moved_to_backlog(), None, now).await?;
                let changed = self.change(moved.only_if(row::unchanged(&row))).await?;
                Ok(on_hold.filter(|_| changed.is_some()))
            }
        }
    }

    /// Ends the row of a deleted webhook once it is due.
    async fn ended_delivery(
        &self,
        wanted: &Wanted,
        source: Source,
        now: Timestamp,
    ) -> Result<Option<Claim>> {
        let row = match self.look(wanted, source, now).await? {
            Looked::Answered(claim) => return Ok(Some(claim)),
            Looked::Free(row) => row,
        };
        let ended = self.end_delivery(&row, now).await?;
        Ok(ended.then_some(Claim::WebhookDeleted))
    }

    /// Ends a row of a deleted webhook. Returns false if another writer was faster.
    pub(super) async fn end_delivery(&self, row: &Delivery, now: Timestamp) -> Result<bool> {
        let change = self.replace_row(&row.webhook_deleted(), None, now).await?;
        let changed = self.change(change.only_if(row::unchanged(row))).await?;
        Ok(changed.is_some())
    }

    /// Applies the claim rules to the row as stored.
    async fn look(&self, wanted: &Wanted, source: Source, now: Timestamp) -> Result<Looked> {
        let key = Key::delivery(&wanted.tenant, wanted.id);
        let Some(item) = self.get(Table::Deliveries, &key).await? else {
            return Ok(Looked::Answered(Claim::Missing));
        };
        let row = row::delivery(item)?;
        if wanted.is_written_since(&row) {
            return Ok(Looked::Answered(Claim::NotFresh));
        }
        let claimed = match source {
            Source::Message => row.clone().claim(&wanted.lease, now),
            Source::Backlog => row.clone().claim_from_backlog(&wanted.lease, now),
        };
        match claimed {
            // It left the backlog: an operator requeued it.
            Ok(_) if source == Source::Backlog && !row.in_backlog => {
                Ok(Looked::Answered(Claim::Unclaimable(Unclaimable::Held)))
            }
            Err(why) => Ok(Looked::Answered(Claim::Unclaimable(why))),
            Ok(claimed) if claimed.version() == row.version => {
                // The same owner claimed it before: the first answer was lost.
                let claim = self.hand_over(claimed, now).await?;
                Ok(Looked::Answered(claim))
            }
            Ok(_) => Ok(Looked::Free(Box::new(row))),
        }
    }

    /// Extends a lease that still holds. The version stays the same, because it identifies the claim.
    pub(super) async fn prolong(&self, claimed: &Claimed, until: Timestamp) -> Result<Renewed> {
        let row = claimed.delivery();
        let change = Change::of(Table::Deliveries, Key::delivery(&row.tenant, row.id))
            .set("lease_until", ms(until))
            .only_if(is_still(claimed));
        Ok(match self.change(change).await? {
            Some(_) => Renewed::Held,
            None => Renewed::Lost,
        })
    }

    /// A claimed row with its event. It is read only now, because a large one is expensive to read and most claims that
    /// fail do so because another process holds the row. A row that has outlived its event can never be delivered, so it
    /// is ended.
    async fn hand_over(&self, claimed: Claimed, now: Timestamp) -> Result<Claim> {
        let row = claimed.delivery();
        let loaded = self.load_event(&row.tenant, row.id.event, now).await?;
        if let Some(Loaded { event, expires_at }) = loaded {
            let claimed = claimed.with_event_expiring(expires_at);
            return Ok(Claim::Claimed(Box::new(ClaimedDelivery { claimed, event })));
        }
        let kept = self.kept(&row.tenant, row.id.event).await?;
        let change = if kept.is_some_and(|kept| kept.erased_at.is_some()) {
            self.erasing(row, now)?
        } else {
            let expired = row.event_expired();
            row::replace(&expired, self.around(&expired, now))?
        };
        self.change(change.only_if(is_still(&claimed))).await?;
        tracing::warn!(event = "store.event_missing", delivery_id = %row.id, "a delivery was ended because its event is gone");
        Ok(Claim::Unclaimable(Unclaimable::Closed))
    }

    /// The context for writing this row at `now`.
    pub(super) fn around(&self, row: &Delivery, now: Timestamp) -> Surroundings {
        Surroundings {
            retention: self.retention_of(&row.tenant, row.created_at),
            now,
        }
    }
}

/// Holds if the row is due and free, or was left by another owner: a claim repeated by its owner is the same claim, even
/// after its lease has ended.
fn is_claimable(wanted: &Wanted, source: Source, now: Timestamp) -> Condition {
    let not_own = "(attribute_not_exists(#lease_owner) OR #lease_owner <> :own)";
    let due = format!("#next_retry_at <= :now AND {not_own}");
    let condition = match source {
        Source::Message => row::is_free(&due, now),
        Source::Backlog => row::is_free_in_backlog(&due, now),
    };
    condition.with("own", s(row::owner(&wanted.lease.owner)))
}

/// Holds while the row is still the claimed one; only its lease may have been extended.
pub(super) fn is_still(claimed: &Claimed) -> Condition {
    Condition::new("#version = :version AND #lease_owner = :owner")
        .with("version", n(claimed.version()))
        .with("owner", s(row::owner(claimed.owner())))
}
