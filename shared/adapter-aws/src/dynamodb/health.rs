//! The effect of attempts on a webhook's state. The stream may report a batch again: what decides, the status and the failed
//! attempts on probation, does not change when an attempt is added twice. The failure count may then be too high.

use std::collections::BTreeSet;

use postrider_domain::delivery::Status;
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_ports::Result;

use super::DynamoStore;
use super::calls::{Change, Condition, Table};
use super::item::{n, s, value_of};
use super::keys::Key;
use super::state::State;
use super::stream::RowChange;
use crate::fault;

/// How many times a state is read again after another writer was faster.
const ROUNDS: u32 = 10;

/// What attempts change.
enum Update {
    Nothing,
    /// Only the counts: added without regard to other writers, so that the publishers of a busy webhook do not wait for
    /// each other.
    Counts,
    /// The status or the probation: stored only if no other writer changed the state.
    Whole,
}

impl Update {
    fn of(before: &State, after: &State) -> Self {
        if after == before {
            return Self::Nothing;
        }
        let (was, is) = (&before.health, &after.health);
        let counts_only = was.status == WebhookStatus::Active
            && is.status == WebhookStatus::Active
            && !was.on_probation
            && was.probes == is.probes;
        if counts_only {
            Self::Counts
        } else {
            Self::Whole
        }
    }
}

impl DynamoStore {
    /// Updates a webhook's state with the results of its attempts. A deleted webhook has no state.
    pub(super) async fn update_health(
        &self,
        (tenant, id): &(TenantId, WebhookId),
        rows: &[RowChange],
    ) -> Result<()> {
        for _ in 0..ROUNDS {
            let Some(before) = self.state(tenant, *id).await? else {
                return Ok(());
            };
            let after = before.after(rows);
            let is_stored = match Update::of(&before, &after) {
                Update::Nothing => true,
                Update::Counts => self.count_failures(tenant, *id, &after, rows).await?,
                Update::Whole => self.change_state_to(tenant, *id, &before, after).await?,
            };
            if is_stored {
                return Ok(());
            }
        }
        Err(fault::contended("the state of a webhook"))
    }

    /// Adds the failures of a webhook that stays active. Returns whether it is still the webhook that was read: not changed
    /// by an operator, and not stopped.
    async fn count_failures(
        &self,
        tenant: &TenantId,
        id: WebhookId,
        after: &State,
        rows: &[RowChange],
    ) -> Result<bool> {
        let health = &after.health;
        let same = Condition::new("#generation = :generation AND #status = :active")
            .with("generation", n(health.generation))
            .with("active", s(health.status.as_str()));
        let last_failure = health.last_failure.as_ref().map(value_of).transpose()?;
        let failing_since = after.failing_since.map(|at| n(at.as_millis()));
        let change = Change::of(Table::Deliveries, Key::state(tenant, id))
            .set("noted_at", n(after.noted_at.as_millis()))
            .set("failed_in_a_row", n(after.failed_in_a_row))
            .set_or_remove("last_failure", last_failure)
            .set_or_remove("failing_since", failing_since)
            .only_if(same);
        let of_generation = |row: &&RowChange| row.after.generation == health.generation;
        let counted: Vec<_> = rows.iter().filter(of_generation).collect();
        let succeeded = |row: &&RowChange| row.after.status == Status::Delivered;
        let change = if counted.iter().any(succeeded) {
            change.set("failure_count", n(health.failure_count))
        } else {
            change.add("failure_count", n(counted.len() as u64))
        };
        Ok(self.change(change).await?.is_some())
    }
}

impl State {
    /// The state with the results of attempts.
    fn after(&self, rows: &[RowChange]) -> Self {
        let mut after = self.clone();
        for row in rows {
            if after.health.on_probation && !after.notes_probe(row) {
                continue;
            }
            after = after.counting(row);
            if let Some(health) = row.effects_on(&after.health).health {
                (after.health, after.noted_at) = (health, row.at);
            }
            if !after.health.on_probation {
                after.failed_probes = BTreeSet::new();
            }
        }
        after
    }

    /// Notes an attempt on probation; returns whether it is a new one.
    fn notes_probe(&mut self, row: &RowChange) -> bool {
        let is_failure = row.after.status != Status::Delivered;
        let attempt = format!("{}/{}", row.after.id, row.after.attempts_total);
        let of_generation = row.after.generation == self.health.generation;
        !of_generation || !is_failure || self.failed_probes.insert(attempt)
    }
}
