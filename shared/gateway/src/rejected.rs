//! Looking at refused requests: what was wrong with them.

use postrider_domain::diagnosis::Finding;
use postrider_domain::ids::{RejectedId, SourceId, TenantId};
use postrider_domain::rejected::{RejectionCounts, StoredRejection};
use postrider_domain::source::Source;

use crate::{GatewayError, Ports};

/// Shows refused requests.
pub struct Rejections {
    ports: Ports,
}

/// What is kept of a source.
#[derive(Debug)]
pub struct Listed {
    /// The source as it is now.
    pub source: Source,
    /// The newest first.
    pub requests: Vec<StoredRejection>,
    /// How many there were.
    pub tally: RejectionCounts,
}

/// A refused request with what would have matched.
#[derive(Debug)]
pub struct Diagnosed {
    /// The source as it is now.
    pub source: Source,
    /// The request.
    pub kept: StoredRejection,
    /// What would have matched, by the secrets that the source has and had.
    pub findings: Vec<Finding>,
}

impl Rejections {
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
    ) -> Result<Listed, GatewayError> {
        let now = self.ports.clock.now();
        let store = &self.ports.store;
        let found = store.source(tenant, source).await?;
        let found = found.ok_or(GatewayError::NotFound { what: "source" })?;
        Ok(Listed {
            requests: store.refused(tenant, source, limit, now).await?,
            tally: store.rejection_counts(tenant, source).await?,
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
        id: RejectedId,
    ) -> Result<Diagnosed, GatewayError> {
        const MISSING: GatewayError = GatewayError::NotFound {
            what: "refused request",
        };
        let now = self.ports.clock.now();
        let store = &self.ports.store;
        let source = store.source(tenant, source).await?.ok_or(MISSING)?;
        let kept = store.rejected_request(tenant, source.id, id, now).await?;
        let kept = kept.ok_or(MISSING)?;
        Ok(Diagnosed {
            findings: kept.refused.diagnose(&source),
            source,
            kept,
        })
    }
}
