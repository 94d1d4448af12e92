//! A sweep: walks through the rows that all tenants accepted in a period, and gives those a lane that are open and have none.
//! An operator starts it when the watch may have missed something: after a restore, whose table has a new stream, and after
//! a stop longer than the day that a stream keeps its records. Each tick of the poller goes on with it.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future::try_join_all;
use postrider_domain::ids::TenantId;
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::backlog::Backlog;
use postrider_ports::clock::Clock;
use postrider_ports::history::Cursor;
use postrider_ports::limiters::Stored;
use postrider_ports::transfers::Transfers;
use postrider_ports::watch::{PeriodSweep, SweptRange, Watch};

use crate::telemetry;

/// How many rows of each shard one step looks at.
const PAGE: usize = 100;

/// What a sweep needs from a store.
pub trait SweepStore: Watch + Transfers + Backlog {}

impl<T: Watch + Transfers + Backlog + ?Sized> SweepStore for T {}

pub struct Sweeps {
    store: Arc<dyn SweepStore>,
    clock: Arc<dyn Clock>,
}

/// What one step did in one shard.
struct Looked {
    shard: u16,
    next: Option<Cursor>,
    rows: usize,
    recovered: usize,
}

impl Sweeps {
    #[must_use]
    pub fn new(store: Arc<dyn SweepStore>, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock }
    }

    /// Starts a sweep of the rows accepted from `from` to before `to`. One that runs for the same period goes on; one for
    /// another period is replaced.
    pub async fn start(&self, from: Timestamp, to: Timestamp) -> Result<()> {
        let running = self.store.sweep().await?;
        let is_same =
            |sweep: &PeriodSweep| sweep.ended_at.is_none() && (sweep.from, sweep.to) == (from, to);
        if running.as_ref().is_some_and(is_same) {
            return Ok(());
        }
        let sweep = PeriodSweep {
            from,
            to,
            started_at: self.clock.now(),
            ended_at: None,
            tenant: None,
            left: [].into(),
            rows: 0,
            recovered: 0,
        };
        self.store.begin_sweep(&sweep).await
    }

    /// Goes on with the sweep that runs, until `deadline`. Returns it as it is then; `None` if none runs.
    pub async fn carry_on(&self, deadline: Timestamp) -> Option<PeriodSweep> {
        match self.try_carry_on(deadline).await {
            Ok(sweep) => sweep,
            Err(error) => {
                telemetry::sweep_failed("lanes", &error);
                None
            }
        }
    }

    async fn try_carry_on(&self, deadline: Timestamp) -> Result<Option<PeriodSweep>> {
        let is_running = |sweep: &PeriodSweep| sweep.ended_at.is_none();
        let Some(mut sweep) = self.store.sweep().await?.filter(is_running) else {
            return Ok(None);
        };
        let tenants: BTreeSet<_> = self.store.tenants().await?.into_iter().collect();
        while sweep.ended_at.is_none() && self.clock.now() < deadline {
            match current(&mut sweep, &tenants, self.store.shards()) {
                Some(tenant) => self.step(&mut sweep, &tenant).await?,
                None => sweep.ended_at = Some(self.clock.now()),
            }
            // A step that is repeated after a crash finds its rows with a lane.
            match self.store.store_sweep(&sweep).await? {
                Stored::Done => {}
                // The next tick goes on with the one that replaced it.
                Stored::Outdated => return Ok(None),
            }
        }
        telemetry::swept_lanes(&sweep);
        Ok(Some(sweep))
    }

    /// Looks at a page of each shard that is left of this tenant.
    async fn step(&self, sweep: &mut PeriodSweep, tenant: &TenantId) -> Result<()> {
        let looks = sweep.left.iter().map(|(shard, after)| {
            let range = SweptRange {
                tenant: tenant.clone(),
                shard: *shard,
                from: sweep.from,
                to: sweep.to,
            };
            self.look(range, after.as_ref())
        });
        for looked in try_join_all(looks).await? {
            sweep.rows += looked.rows as u64;
            sweep.recovered += looked.recovered as u64;
            match looked.next {
                Some(next) => sweep.left.insert(looked.shard, Some(next)),
                None => sweep.left.remove(&looked.shard),
            };
        }
        Ok(())
    }

    async fn look(&self, range: SweptRange, after: Option<&Cursor>) -> Result<Looked> {
        let page = self.store.accepted_between(&range, PAGE, after).await?;
        let rows = page.items.len();
        let open = self.store.open_without_lane(page.items).await?;
        let recovered = self.store.give_lanes(open, self.clock.now()).await?;
        Ok(Looked {
            shard: range.shard,
            next: page.next,
            rows,
            recovered,
        })
    }
}

/// The tenant to go on with; `None` when all are done.
fn current(sweep: &mut PeriodSweep, tenants: &BTreeSet<TenantId>, shards: u16) -> Option<TenantId> {
    if sweep.left.is_empty() {
        let is_later = |tenant: &&TenantId| sweep.tenant.as_ref().is_none_or(|done| *tenant > done);
        let next = tenants.iter().find(is_later)?.clone();
        sweep.left = (0..shards).map(|shard| (shard, None)).collect();
        sweep.tenant = Some(next);
    }
    sweep.tenant.clone()
}
