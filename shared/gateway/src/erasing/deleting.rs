//! Deletes a tenant with everything in it: first what could accept or send something, then what is stored.

use postrider_domain::ids::{ErasureId, KeyId, TenantId};
use postrider_domain::tenant::Deletion;
use postrider_domain::time::Millis;
use postrider_ports::configs::Changed;
use postrider_ports::erasures::{Erasure, ErasurePhase, Progress, Subject};
use postrider_ports::history::Filter;
use postrider_ports::jobs::Walk;

use super::Erasing;
use super::slices::Fate;
use crate::error::Conflict;
use crate::{GatewayError, telemetry};

/// How many settings of each kind one step deletes.
const SETTINGS: usize = 25;
/// How much one step of the rest examines.
const EXAMINED: usize = 2_000;
/// Requests that began before the deletion have ended this long after it, so that the last look finds what they wrote.
const REQUESTS_END_AFTER: Millis = Millis::from_seconds(10);
/// How many times the record is marked again after another writer changed it.
const TRIES: usize = 5;

impl Erasing {
    /// Deletes a tenant. Once this returns, nothing is accepted for it and its keys do not work; the rest follows in slices.
    /// A repeated call returns the deletion under way. The operator, `owner`, keeps the record of it.
    ///
    /// # Errors
    /// [`Conflict::DefaultTenant`] for the operator's own tenant.
    pub async fn delete_tenant(
        &self,
        owner: &TenantId,
        tenant: &TenantId,
        by: KeyId,
    ) -> Result<Erasure, GatewayError> {
        if tenant.as_str() == TenantId::DEFAULT {
            return Err(Conflict::DefaultTenant.into());
        }
        let found = self.ports.store.tenant(tenant).await?;
        let found = found.ok_or(GatewayError::NotFound { what: "tenant" })?;
        if let Some(deletion) = found.deletion {
            return self.get(owner, deletion.erasure).await;
        }
        let now = self.ports.clock.now();
        let id = ErasureId::new(now, &self.ports.entropy.bytes());
        let subject = Subject::Tenant {
            tenant: tenant.clone(),
        };
        let erasure = Erasure::new(id, subject, by, now);
        // Before the mark: a mark without an erasure would never go away.
        let store = &self.ports.store;
        store.create_erasure(owner, erasure.clone()).await?;
        if !self.mark(tenant, &erasure).await? {
            // Another call was faster. Its erasure is the one; this one ends, so that it never finds a later tenant of this id.
            self.carry_on(owner, erasure.clone()).await?;
            let found = store.tenant(tenant).await?;
            if let Some(deletion) = found.and_then(|found| found.deletion) {
                return self.get(owner, deletion.erasure).await;
            }
        }
        telemetry::tenant_deletion_begun(tenant, id);
        Ok(self.first_steps(owner, erasure).await)
    }

    /// Marks the tenant as being deleted by this erasure, and ends its portal. Returns false if another one does it, or did it
    /// since this one began: then a tenant of this id is a later one.
    async fn mark(&self, tenant: &TenantId, erasure: &Erasure) -> Result<bool, GatewayError> {
        let deletion = Deletion {
            erasure: erasure.id,
            begun_at: erasure.begun_at,
        };
        for _ in 0..TRIES {
            let Some(found) = self.ports.store.tenant(tenant).await? else {
                return Ok(false);
            };
            if let Some(known) = found.deletion {
                return Ok(known.erasure == erasure.id);
            }
            let ended_at = self.ports.store.portal_ended_at(tenant).await?;
            if ended_at.is_some_and(|ended_at| ended_at > erasure.begun_at) {
                return Ok(false);
            }
            // Before the mark, so that a crash between them leaves no session valid.
            self.ports
                .store
                .end_portal(tenant, erasure.begun_at)
                .await?;
            let marked = found.deleted_by(deletion);
            let stored = self.ports.store.put_tenant(marked, found.updated_at());
            if stored.await? == Changed::Done {
                return Ok(true);
            }
        }
        Err(Conflict::ChangedMeanwhile.into())
    }

    async fn is_marked(&self, tenant: &TenantId, erasure: &Erasure) -> Result<bool, GatewayError> {
        let found = self.ports.store.tenant(tenant).await?;
        let deletion = found.and_then(|found| found.deletion);
        Ok(deletion.is_some_and(|known| known.erasure == erasure.id))
    }

    /// Deletes the next slice of a tenant.
    pub(super) async fn delete_some(
        &self,
        tenant: &TenantId,
        erasure: &mut Erasure,
        mut progress: Progress,
    ) -> Result<Option<Progress>, GatewayError> {
        let (store, now) = (&self.ports.store, self.ports.clock.now());
        let is_its = if erasure.step == 0 {
            self.mark(tenant, erasure).await?
        } else {
            self.is_marked(tenant, erasure).await?
        };
        if !is_its {
            // An interrupted run of the last step deleted it. By now there may be another of this name.
            return Ok(None);
        }
        match progress.phase {
            ErasurePhase::Settings => {
                let deleted = store.delete_settings(tenant, SETTINGS, now).await?;
                erasure.erased.settings.add(deleted);
                if deleted.is_empty() {
                    progress.phase = ErasurePhase::Events;
                }
                Ok(Some(progress))
            }
            ErasurePhase::Events => {
                let all = Filter::default();
                self.step(tenant, &all, Fate::Deleted, erasure, progress)
                    .await
            }
            ErasurePhase::Rest => {
                let after = progress.rest.take();
                progress.rest = store.delete_rest(tenant, EXAMINED, after.as_ref()).await?;
                if progress.rest.is_some() {
                    return Ok(Some(progress));
                }
                self.last_look(tenant, erasure, progress).await
            }
        }
    }

    /// What requests wrote that were under way when the deletion began is deleted by a second round. After it the tenant is
    /// gone.
    async fn last_look(
        &self,
        tenant: &TenantId,
        erasure: &Erasure,
        progress: Progress,
    ) -> Result<Option<Progress>, GatewayError> {
        let store = &self.ports.store;
        let quiet_at = erasure
            .begun_at
            .plus(REQUESTS_END_AFTER.max(store.lists_lag()));
        if progress.walk_begun_at < quiet_at {
            return Ok(Some(Progress {
                phase: ErasurePhase::Settings,
                walk: Walk::START,
                walk_begun_at: quiet_at.max(self.ports.clock.now()),
                not_before: quiet_at,
                ..progress
            }));
        }
        let unscrubbed = self.scrubbed(progress).await?;
        if unscrubbed.is_none() {
            // Once more, for links that were created while the deletion began.
            store.end_portal(tenant, self.ports.clock.now()).await?;
            store.forget_tenant(tenant).await?;
        }
        Ok(unscrubbed)
    }
}
