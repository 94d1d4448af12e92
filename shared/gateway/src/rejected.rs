//! Rejected requests, and why they did not verify.

use std::sync::Arc;

use postrider_domain::diagnosis::Finding;
use postrider_domain::ids::{RejectedId, SourceId, TenantId};
use postrider_domain::rejected::{RejectionCounts, StoredRejection};
use postrider_domain::source::Source;
use postrider_ports::InboundStore;

use crate::receive::RejectionLog;
use crate::{GatewayError, Ports};

pub struct Rejections {
    ports: Ports<dyn InboundStore>,
    log: Arc<RejectionLog>,
}

/// The rejected requests of a source.
#[derive(Debug)]
pub struct Listed {
    /// In its current state.
    pub source: Source,
    /// Newest first.
    pub requests: Vec<StoredRejection>,
    /// All of them, including those that were only counted.
    pub tally: RejectionCounts,
}

/// A rejected request and what would have matched.
#[derive(Debug)]
pub struct Diagnosed {
    /// In its current state.
    pub source: Source,
    pub kept: StoredRejection,
    /// What would have matched with the source's current and previous secrets.
    pub findings: Vec<Finding>,
}

impl Rejections {
    pub(crate) fn new(ports: impl Into<Ports<dyn InboundStore>>, log: Arc<RejectionLog>) -> Self {
        let ports = ports.into();
        Self { ports, log }
    }

    pub async fn list(
        &self,
        tenant: &TenantId,
        source: SourceId,
        limit: usize,
    ) -> Result<Listed, GatewayError> {
        self.log.write().await?;
        let now = self.ports.clock.now();
        let store = &self.ports.store;
        let found = store.source(tenant, source).await?;
        let found = found.ok_or(GatewayError::NotFound { what: "source" })?;
        Ok(Listed {
            requests: store.rejections(tenant, source, limit, now).await?,
            tally: store.rejection_counts(tenant, source).await?,
            source: found,
        })
    }

    /// Verifies a rejected request again and reports what would have matched.
    pub async fn diagnose(
        &self,
        tenant: &TenantId,
        source: SourceId,
        id: RejectedId,
    ) -> Result<Diagnosed, GatewayError> {
        const MISSING: GatewayError = GatewayError::NotFound {
            what: "rejected request",
        };
        self.log.write().await?;
        let now = self.ports.clock.now();
        let store = &self.ports.store;
        let source = store.source(tenant, source).await?.ok_or(MISSING)?;
        let kept = store.rejected_request(tenant, source.id, id, now).await?;
        let kept = kept.ok_or(MISSING)?;
        Ok(Diagnosed {
            findings: kept.rejected.diagnose(&source),
            source,
            kept,
        })
    }
}
