//! Erases the content of events, and deletes tenants. Like a bulk retry, an erasure is stored first, and then done in slices.

mod deleting;
mod slices;

use postrider_domain::event::Label;
use postrider_domain::ids::{ErasureId, EventId, KeyId, TenantId};
use postrider_domain::time::Millis;
use postrider_ports::ErasureStore;
use postrider_ports::erasures::{Erasure, Subject};
use tokio::select;

pub(crate) use slices::is_due;

use crate::{GatewayError, Ports, telemetry};

/// The steps that the call which starts an erasure runs itself. Enough for an event, and for a session with a few hundred.
const FIRST_STEPS: usize = 8;
/// How long it runs them: the operator waits for the answer.
const FIRST_STEPS_WITHIN: Millis = Millis::from_seconds(10);

/// Erases and deletes.
pub struct Erasing {
    ports: Ports<dyn ErasureStore>,
    slice: usize,
}

impl Erasing {
    #[must_use]
    pub fn new(ports: impl Into<Ports<dyn ErasureStore>>) -> Self {
        Self {
            ports: ports.into(),
            slice: slices::SLICE,
        }
    }

    /// Lists so many deliveries for each step.
    #[must_use]
    pub fn in_slices_of(self, slice: usize) -> Self {
        Self { slice, ..self }
    }

    /// Erases the content of an event. Once it is stored it will be done, so an error of the first slice is not an error of
    /// this call.
    pub async fn erase_event(
        &self,
        tenant: &TenantId,
        event_id: EventId,
        by: KeyId,
    ) -> Result<Erasure, GatewayError> {
        let store = &self.ports.store;
        // The event itself last: its body may be large.
        let is_stored = !store.rows_of(tenant, event_id).await?.is_empty()
            || store.erased_at(tenant, event_id).await?.is_some()
            || store.event(tenant, event_id).await?.is_some();
        if !is_stored {
            return Err(GatewayError::NotFound { what: "event" });
        }
        self.begin(tenant, Subject::Event { event_id }, by).await
    }

    /// Erases the content of all events that have a delivery in the session.
    pub async fn erase_session(
        &self,
        tenant: &TenantId,
        session: Label,
        by: KeyId,
    ) -> Result<Erasure, GatewayError> {
        let session_id = Some(session);
        self.begin(tenant, Subject::Session { session_id }, by)
            .await
    }

    pub async fn get(&self, tenant: &TenantId, id: ErasureId) -> Result<Erasure, GatewayError> {
        let found = self.ports.store.erasure(tenant, id).await?;
        found.ok_or(GatewayError::NotFound { what: "erasure" })
    }

    /// Newest first, those before `before`.
    pub async fn list(
        &self,
        tenant: &TenantId,
        limit: usize,
        before: Option<ErasureId>,
    ) -> Result<Vec<Erasure>, GatewayError> {
        Ok(self.ports.store.erasures(tenant, limit, before).await?)
    }

    async fn begin(
        &self,
        tenant: &TenantId,
        subject: Subject,
        by: KeyId,
    ) -> Result<Erasure, GatewayError> {
        let now = self.ports.clock.now();
        let id = ErasureId::new(now, &self.ports.entropy.bytes());
        let erasure = Erasure::new(id, subject, by, now);
        let store = &self.ports.store;
        store.create_erasure(tenant, erasure.clone()).await?;
        Ok(self.first_steps(tenant, erasure).await)
    }

    async fn first_steps(&self, tenant: &TenantId, erasure: Erasure) -> Erasure {
        let begun = erasure.clone();
        let deadline = self.ports.clock.now().plus(FIRST_STEPS_WITHIN);
        select! {
            biased;
            further = self.some_steps(tenant, erasure) => further,
            () = self.ports.clock.sleep_until(deadline) => begun,
        }
    }

    async fn some_steps(&self, tenant: &TenantId, mut erasure: Erasure) -> Erasure {
        for _ in 0..FIRST_STEPS {
            if !is_due(&erasure, self.ports.clock.now()) {
                break;
            }
            match self.carry_on(tenant, erasure.clone()).await {
                Ok(further) => erasure = further,
                Err(reason) => {
                    telemetry::erasure_failed(erasure.id, &reason);
                    break;
                }
            }
        }
        erasure
    }
}
