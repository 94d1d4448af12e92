//! Erasures, slice by slice. Every step is bounded and ends with one conditional write of the erasure.

use futures_util::{StreamExt, stream};
use postrider_domain::ids::{EventId, TenantId};
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::erasures::{Erasure, ErasurePhase, EventErased, Progress, Subject};
use postrider_ports::history::Filter;
use postrider_ports::jobs::Walk;

use super::Erasing;
use crate::GatewayError;

/// How many deliveries one step lists. On AWS an event is several calls.
pub(super) const SLICE: usize = 50;
/// How many events are erased at the same time.
const AT_ONCE: usize = 8;
/// How long an erasure waits for attempts under way.
const WAIT: Millis = Millis::from_seconds(2);
/// A wait may be as long as lists lag.
const LONGEST_WAIT: Millis = Millis::from_seconds(3600);

/// Whether the next step may run.
pub(crate) fn is_due(erasure: &Erasure, now: Timestamp) -> bool {
    let progress = erasure.progress.as_ref();
    progress.is_some_and(|progress| progress.not_before.is_due(now, LONGEST_WAIT))
}

/// What is done with an event.
#[derive(Clone, Copy)]
pub(super) enum Fate {
    Erased,
    Deleted,
}

impl Erasing {
    /// Runs the next step of an erasure and stores its progress.
    ///
    /// # Errors
    /// If the store cannot be reached. The step runs again later.
    pub async fn carry_on(
        &self,
        tenant: &TenantId,
        mut erasure: Erasure,
    ) -> Result<Erasure, GatewayError> {
        let Some(progress) = erasure.progress.take() else {
            return Ok(erasure);
        };
        erasure.progress = match erasure.subject.clone() {
            Subject::Event { event_id } => {
                self.one_event(tenant, event_id, &mut erasure, progress)
                    .await?
            }
            Subject::Session { session_id } => {
                let filter = Filter {
                    session_id,
                    // What is published from now on is not meant.
                    to: Some(erasure.begun_at.plus(Millis::new(1))),
                    ..Filter::default()
                };
                self.step(tenant, &filter, Fate::Erased, &mut erasure, progress)
                    .await?
            }
            Subject::Tenant { tenant } => self.delete_some(&tenant, &mut erasure, progress).await?,
        };
        if erasure.progress.is_none() {
            erasure.ended_at = Some(self.ports.clock.now());
            if let Subject::Session { session_id } = &mut erasure.subject {
                *session_id = None;
            }
        }
        erasure.step += 1;
        let stored = self.ports.store.progress_erasure(tenant, erasure).await?;
        stored.ok_or(GatewayError::NotFound { what: "erasure" })
    }

    async fn one_event(
        &self,
        tenant: &TenantId,
        event: EventId,
        erasure: &mut Erasure,
        progress: Progress,
    ) -> Result<Option<Progress>, GatewayError> {
        let now = self.ports.clock.now();
        match self.ports.store.erase_event(tenant, event, now).await? {
            EventErased::InFlight => return Ok(Some(self.waiting(progress))),
            EventErased::Done { deliveries } => {
                erasure.erased.events = 1;
                erasure.erased.deliveries = deliveries;
            }
            EventErased::Missing => {}
        }
        self.scrubbed(progress).await
    }

    /// Erases the listed slice and lists the next. `None` when all is done.
    pub(super) async fn step(
        &self,
        tenant: &TenantId,
        filter: &Filter,
        fate: Fate,
        erasure: &mut Erasure,
        mut progress: Progress,
    ) -> Result<Option<Progress>, GatewayError> {
        self.settle_slice(tenant, fate, erasure, &mut progress)
            .await?;
        if let Walk::At(cursor) = &progress.walk {
            let store = &self.ports.store;
            let page = store
                .list(tenant, filter, self.slice, cursor.as_ref())
                .await?;
            progress.walk = Walk::after(page.next);
            for row in page.items {
                if !progress.slice.contains(&row.id.event) {
                    progress.slice.push(row.id.event);
                }
            }
            return Ok(Some(progress));
        }
        if !progress.slice.is_empty() {
            return Ok(Some(self.waiting(progress)));
        }
        if let Subject::Tenant { .. } = erasure.subject {
            progress.phase = ErasurePhase::Rest;
            return Ok(Some(progress));
        }
        // A list may have missed a row that was written just before.
        let complete_at = erasure.begun_at.plus(self.ports.store.lists_lag());
        if progress.walk_begun_at < complete_at {
            let now = self.ports.clock.now();
            progress.walk = Walk::START;
            progress.walk_begun_at = complete_at.max(now);
            progress.not_before = complete_at;
            return Ok(Some(progress));
        }
        // A bulk retry of the session finds nothing more and ends soon.
        if let Subject::Session {
            session_id: Some(session),
        } = &erasure.subject
            && !self.ports.store.erase_from_jobs(tenant, session).await?
        {
            return Ok(Some(self.waiting(progress)));
        }
        self.scrubbed(progress).await
    }

    async fn settle_slice(
        &self,
        tenant: &TenantId,
        fate: Fate,
        erasure: &mut Erasure,
        progress: &mut Progress,
    ) -> Result<(), GatewayError> {
        let now = self.ports.clock.now();
        let slice = std::mem::take(&mut progress.slice);
        let store = &self.ports.store;
        let each: Vec<_> = slice
            .into_iter()
            .map(|event| async move {
                let erased = match fate {
                    Fate::Erased => store.erase_event(tenant, event, now).await,
                    Fate::Deleted => store.delete_event(tenant, event, now).await,
                };
                (event, erased)
            })
            .collect();
        let results: Vec<_> = stream::iter(each).buffered(AT_ONCE).collect().await;
        for (event, erased) in results {
            match erased? {
                EventErased::InFlight => progress.slice.push(event),
                EventErased::Done { deliveries } => {
                    erasure.erased.events += 1;
                    erasure.erased.deliveries += deliveries;
                }
                // An interrupted run of this step deleted it.
                EventErased::Missing => erasure.erased.events += 1,
            }
        }
        Ok(())
    }

    fn waiting(&self, progress: Progress) -> Progress {
        Progress {
            not_before: self.ports.clock.now().plus(WAIT),
            ..progress
        }
    }

    /// The end, once nothing of it can be read in the files of the store.
    pub(super) async fn scrubbed(
        &self,
        progress: Progress,
    ) -> Result<Option<Progress>, GatewayError> {
        let is_clean = self.ports.store.scrub().await?;
        Ok((!is_clean).then(|| self.waiting(progress)))
    }
}
