//! Claims rows and renews their leases.

use futures_util::StreamExt;
use futures_util::future::join;
use futures_util::stream;
use postrider_domain::delivery::{Claimed, Delivery, Unclaimable};
use postrider_domain::time::Timestamp;
use postrider_ports::deliveries::{Claim, ClaimedDelivery, Move, Renewed, Wanted};
use postrider_ports::{Error, Result};

use super::DynamoStore;
use super::calls::{Change, Condition, Step, Table, Transacted};
use super::event::Kept;
use super::item::{ms, n, s};
use super::keys::Key;
use super::row::{self, Surroundings};
use super::state::{self, State};
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

impl DynamoStore {
    pub(super) async fn claim_all(
        &self,
        wanted: Vec<Wanted>,
        now: Timestamp,
    ) -> Vec<Result<Claim>> {
        let webhooks = wanted
            .iter()
            .map(|one| (one.tenant.clone(), one.id.webhook));
        let states = match self.states(webhooks.collect::<Vec<_>>()).await {
            Ok(states) => states,
            Err(error) => return wanted.iter().map(|_| Err(error.clone())).collect(),
        };
        let claim = |one: Wanted| {
            let known = states.get(&(one.tenant.clone(), one.id.webhook));
            self.claim_one(one, known.cloned(), now)
        };
        let claims: Vec<_> = wanted.into_iter().map(claim).collect();
        stream::iter(claims).buffered(AT_ONCE).collect().await
    }

    async fn claim_one(
        &self,
        wanted: Wanted,
        mut known: Option<State>,
        now: Timestamp,
    ) -> Result<Claim> {
        for _ in 0..TRIES {
            let answer = match &known {
                None => self.ended_delivery(&wanted, now).await?,
                Some(state) if state.health.status.parks() => self.park(&wanted, now).await?,
                Some(state) => self.hold(&wanted, state.health.generation, now).await?,
            };
            match answer {
                Some(claim) => return Ok(claim),
                None => known = self.state(&wanted.tenant, wanted.id.webhook).await?,
            }
        }
        Err(fault::contended("the row"))
    }

    /// Claims a row of an active webhook in one write that touches no index.
    async fn hold(
        &self,
        wanted: &Wanted,
        generation: u32,
        now: Timestamp,
    ) -> Result<Option<Claim>> {
        // A claim repeated by its owner is the same claim, even after its lease has ended.
        let not_own = "(attribute_not_exists(#lease_owner) OR #lease_owner <> :own)";
        let condition = row::is_free(&format!("#next_retry_at <= :now AND {not_own}"), now)
            .with("own", s(row::owner(&wanted.lease.owner)));
        let change = Change::of(Table::Deliveries, Key::delivery(&wanted.tenant, wanted.id))
            .set("lease_owner", s(row::owner(&wanted.lease.owner)))
            .set("lease_until", ms(wanted.lease.until))
            .set("generation", n(generation))
            .add("version", n(1))
            .only_if(condition);
        let event = self.kept(&wanted.tenant, wanted.id.event);
        // Wait for both: a write that is dropped half-way may still take effect.
        let (changed, event) = join(self.change(change), event).await;
        let (changed, event) = (changed?, event?);
        let Some(item) = changed else {
            return match self.look(wanted, now).await? {
                Looked::Answered(claim) => Ok(Some(claim)),
                Looked::Free(_) => Ok(None),
            };
        };
        // The row is now held under this lease, and a claim repeated by its owner succeeds.
        match row::delivery(item)?.claim(&wanted.lease, now) {
            Ok(claimed) => hand_over(claimed, event).map(Some),
            Err(why) => Ok(Some(Claim::Unclaimable(why))),
        }
    }

    /// Parks a row, unless its webhook was resumed in the meantime: then a release might already have passed.
    async fn park(&self, wanted: &Wanted, now: Timestamp) -> Result<Option<Claim>> {
        let row = match self.look(wanted, now).await? {
            Looked::Answered(claim) => return Ok(Some(claim)),
            Looked::Free(row) => row,
        };
        let parked = row::replace(&row.park(), self.around(now))?;
        let webhook = Key::state(&wanted.tenant, wanted.id.webhook);
        let steps = [
            Step::Check(Table::Deliveries, webhook, state::still_parks()),
            Step::Change(parked.only_if(row::unchanged(&row))),
        ];
        Ok(match self.transact(&steps).await? {
            Transacted::Done => Some(Claim::Unclaimable(Unclaimable::Parked)),
            Transacted::Conflicted(_) => None,
        })
    }

    /// Ends the row of a deleted webhook once it is due.
    async fn ended_delivery(&self, wanted: &Wanted, now: Timestamp) -> Result<Option<Claim>> {
        let row = match self.look(wanted, now).await? {
            Looked::Answered(claim) => return Ok(Some(claim)),
            Looked::Free(row) => row,
        };
        let ended = self.end_delivery(&row, now).await?;
        Ok(ended.then_some(Claim::WebhookDeleted))
    }

    /// Ends a row of a deleted webhook. Returns false if another writer was faster.
    pub(super) async fn end_delivery(&self, row: &Delivery, now: Timestamp) -> Result<bool> {
        let dead = row.webhook_deleted();
        let change = row::replace(&dead, self.around(now))?;
        let changed = self.change(change.only_if(row::unchanged(row))).await?;
        Ok(changed.is_some())
    }

    /// Applies the claim rules to the row as stored.
    async fn look(&self, wanted: &Wanted, now: Timestamp) -> Result<Looked> {
        let key = Key::delivery(&wanted.tenant, wanted.id);
        let Some(item) = self.get(Table::Deliveries, &key).await? else {
            return Ok(Looked::Answered(Claim::Missing));
        };
        let row = row::delivery(item)?;
        match row.clone().claim(&wanted.lease, now) {
            Err(why) => Ok(Looked::Answered(Claim::Unclaimable(why))),
            Ok(claimed) if claimed.version() == row.version => {
                // The same owner claimed it before: the first answer was lost.
                let event = self.kept(&wanted.tenant, wanted.id.event).await?;
                hand_over(claimed, event).map(Looked::Answered)
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

    /// Moves rows to their turns, unless they are closed, held, parked or have changed since.
    pub(super) async fn move_all(&self, moves: Vec<Move>, now: Timestamp) -> Result<()> {
        let moves: Vec<_> = moves
            .into_iter()
            .map(|step| self.move_one(step, now))
            .collect();
        let moved: Vec<Result<()>> = stream::iter(moves).buffered(AT_ONCE).collect().await;
        moved.into_iter().collect()
    }

    async fn move_one(&self, step: Move, now: Timestamp) -> Result<()> {
        let unmoved = row::is_free("#next_retry_at = :seen", now).with("seen", ms(step.seen));
        let change = Change::of(Table::Deliveries, Key::delivery(&step.tenant, step.id))
            .set("next_retry_at", ms(step.to))
            .set("lane", s(row::lane_at(step.id, step.to, self.around(now))))
            .set("paced", aws_sdk_dynamodb::types::AttributeValue::Bool(true))
            .set("changed_at", ms(now))
            .set("lease_until", n(0))
            .remove("lease_owner")
            .add("version", n(1));
        self.change(change.only_if(unmoved)).await?;
        Ok(())
    }

    /// The context for writing a row at `now`.
    pub(super) const fn around(&self, now: Timestamp) -> Surroundings {
        Surroundings {
            shards: self.shards,
            retention: self.retention,
            now,
        }
    }
}

/// Holds while the row is still the claimed one; only its lease may have been extended.
pub(super) fn is_still(claimed: &Claimed) -> Condition {
    Condition::new("#version = :version AND #lease_owner = :owner")
        .with("version", n(claimed.version()))
        .with("owner", s(row::owner(claimed.owner())))
}

fn hand_over(claimed: Claimed, event: Option<Kept>) -> Result<Claim> {
    let id = claimed.delivery().id;
    let missing = || Error::Broken(format!("the event of {id} is missing"));
    let event = event.ok_or_else(missing)?.event;
    Ok(Claim::Claimed(Box::new(ClaimedDelivery { claimed, event })))
}
