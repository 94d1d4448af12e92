//! Looking at refused requests: what was wrong with them.

use postrider_domain::diagnosis::Finding;
use postrider_domain::ids::{RefusedId, SourceId, TenantId};
use postrider_domain::refused::{KeptRequest, Tally};
use postrider_domain::source::Source;

use crate::{Ports, Refusal};

/// Shows refused requests.
pub struct Refusals {
    ports: Ports,
}

/// What is kept of a source.
#[derive(Debug)]
pub struct Listed {
    /// The source as it is now.
    pub source: Source,
    /// The newest first.
    pub requests: Vec<KeptRequest>,
    /// How many there were.
    pub tally: Tally,
}

/// A refused request with what would have matched.
#[derive(Debug)]
pub struct Diagnosed {
    /// The source as it is now.
    pub source: Source,
    /// The request.
    pub kept: KeptRequest,
    /// What would have matched, by the secrets that the source has and had.
    pub findings: Vec<Finding>,
}

impl Refusals {
    pub(crate) const fn new(ports: Ports) -> Self {
        Self { ports }
    }

    /// What is kept of a source.
    ///
    /// # Errors
    /// When there is no such source.
    pub async fn list(
        &self,
        tenant: &TenantId,
        source: SourceId,
        limit: usize,
    ) -> Result<Listed, Refusal> {
        let now = self.ports.clock.now();
        let store = &self.ports.store;
        let found = store.source(tenant, source).await?;
        let found = found.ok_or(Refusal::NotFound { what: "source" })?;
        Ok(Listed {
            requests: store.refused(tenant, source, limit, now).await?,
            tally: store.refused_tally(tenant, source).await?,
            source: found,
        })
    }

    /// One refused request, looked at anew.
    ///
    /// # Errors
    /// When there is no such source, or no such request of it.
    pub async fn diagnose(
        &self,
        tenant: &TenantId,
        source: SourceId,
        id: RefusedId,
    ) -> Result<Diagnosed, Refusal> {
        const MISSING: Refusal = Refusal::NotFound {
            what: "refused request",
        };
        let now = self.ports.clock.now();
        let store = &self.ports.store;
        let source = store.source(tenant, source).await?.ok_or(MISSING)?;
        let kept = store.refused_one(tenant, source.id, id, now).await?;
        let kept = kept.ok_or(MISSING)?;
        Ok(Diagnosed {
            findings: kept.refused.diagnose(&source),
            source,
            kept,
        })
    }
}
