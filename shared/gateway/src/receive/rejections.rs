//! Where rejected requests go: each into the store, or into memory and from there into the store once a second.
//!
//! Anyone can send requests that are rejected. If each were a commit, strangers could slow publishers down, who share the
//! disk with them. A function on AWS has no such choice: it may be frozen as soon as it has answered.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use postrider_domain::ids::{SourceId, TenantId};
use postrider_domain::rejected::{PER_MINUTE, RejectedRequest};
use postrider_domain::time::Millis;
use postrider_ports::clock::Clock;
use postrider_ports::rejected::{BatchedRejections, RejectionBatch};
use postrider_ports::{InboundStore, Result};

use crate::{Ports, telemetry};

const WRITE_EVERY: Millis = Millis::from_seconds(1);

pub struct RejectionLog {
    store: Arc<dyn InboundStore>,
    clock: Arc<dyn Clock>,
    batches: OnceLock<Batches>,
}

struct Batches {
    store: Arc<dyn BatchedRejections>,
    /// Held while a batch is written: a reader that comes meanwhile waits for it.
    writing: tokio::sync::Mutex<()>,
    pending: Mutex<HashMap<(TenantId, SourceId), Pending>>,
}

#[derive(Default)]
struct Pending {
    first: Vec<RejectedRequest>,
    more: u64,
}

impl RejectionLog {
    pub(crate) fn new(ports: impl Into<Ports<dyn InboundStore>>) -> Self {
        let ports = ports.into();
        Self {
            store: ports.store,
            clock: ports.clock,
            batches: OnceLock::new(),
        }
    }

    /// Collects rejected requests in memory from now on. They are stored by [`Self::run`].
    pub(crate) fn batch(&self, store: Arc<dyn BatchedRejections>) {
        // Called at most once; a second call has no effect.
        let _ = self.batches.set(Batches {
            store,
            writing: tokio::sync::Mutex::default(),
            pending: Mutex::default(),
        });
    }

    pub(crate) async fn add(&self, rejected: RejectedRequest) -> Result<()> {
        match self.batches.get() {
            Some(batches) => batches.add(rejected),
            None => drop(self.store.store_rejected(rejected).await?),
        }
        Ok(())
    }

    /// Stores what was collected, so that a reader sees it.
    pub async fn write(&self) -> Result<()> {
        match self.batches.get() {
            Some(batches) => batches.write().await,
            None => Ok(()),
        }
    }

    /// Stores what was collected, once a second, until it is dropped.
    pub async fn run(&self) {
        loop {
            let next = self.clock.now().plus(WRITE_EVERY);
            self.clock.sleep_until(next).await;
            if let Err(error) = self.write().await {
                telemetry::rejection_not_stored(None, &error);
            }
        }
    }
}

impl Pending {
    fn batch(((tenant, source), pending): (&(TenantId, SourceId), &Self)) -> RejectionBatch {
        RejectionBatch {
            tenant: tenant.clone(),
            source: *source,
            first: pending.first.clone(),
            more: pending.more,
        }
    }
}

impl Batches {
    fn add(&self, rejected: RejectedRequest) {
        let mut pending = self.pending.lock();
        let key = (rejected.tenant.clone(), rejected.source);
        let of_source = pending.entry(key).or_default();
        // The store keeps no more than this anyway.
        if of_source.first.len() < PER_MINUTE as usize {
            of_source.first.push(rejected);
        } else {
            of_source.more += 1;
        }
    }

    async fn write(&self) -> Result<()> {
        let _writing = self.writing.lock().await;
        let batches: Vec<RejectionBatch> = self.pending.lock().iter().map(Pending::batch).collect();
        if batches.is_empty() {
            return Ok(());
        }
        // What is written leaves memory only afterwards: if the write fails, the next one tries again.
        self.store.store_rejections(batches.clone()).await?;
        let mut pending = self.pending.lock();
        for batch in batches {
            let key = (batch.tenant, batch.source);
            if let Some(of_source) = pending.get_mut(&key) {
                of_source.first.drain(..batch.first.len());
                of_source.more -= batch.more;
                if of_source.first.is_empty() && of_source.more == 0 {
                    pending.remove(&key);
                }
            }
        }
        Ok(())
    }
}
