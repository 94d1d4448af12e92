//! Checks payloads against the schemas of the event catalogue.
//!
//! Costs no read per event: the schemas are loaded once per version of the tenant's webhooks, which every change of the catalogue
//! raises, and the store compares that version when it accepts an event. Those of the operator apply to every tenant; another
//! process may use them for five seconds after a change.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use postrider_domain::event::{Event, Origin};
use postrider_domain::event_catalogue::CatalogueEntry;
use postrider_domain::ids::TenantId;
use postrider_domain::json_schema::{PayloadFault, Schema};
use postrider_domain::pattern::EventType;
use postrider_domain::payload_filter::Payload;
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::catalogue::Catalogue;

use crate::settings::validation::EventValidation;
use crate::webhook_cache::{Snapshot, WebhookCache};

/// The schemas of a tenant's own entries.
#[derive(Debug, Default)]
pub(crate) struct Schemas(HashMap<EventType, Entry>);

/// An entry without a schema counts, too: it hides that of the operator.
#[derive(Debug)]
struct Entry {
    /// Without what is not needed here.
    entry: CatalogueEntry,
    /// Compiled for the first event of its type. `None` also for a schema that an earlier version stored and this one cannot use.
    compiled: OnceLock<Option<Schema>>,
}

impl Schemas {
    pub(crate) fn of(entries: Vec<CatalogueEntry>) -> Self {
        let entry = |entry: CatalogueEntry| {
            let name = entry.name.clone();
            let entry = Entry {
                entry: CatalogueEntry {
                    description: None,
                    examples: Vec::new(),
                    ..entry
                },
                compiled: OnceLock::new(),
            };
            (name, entry)
        };
        Self(entries.into_iter().map(entry).collect())
    }

    fn get(&self, event_type: &EventType) -> Option<Option<&Schema>> {
        let entry = self.0.get(event_type)?;
        let compiled = entry.compiled.get_or_init(|| {
            let compiled = entry.entry.compiled()?;
            compiled.ok()
        });
        Some(compiled.as_ref())
    }
}

pub(crate) struct Validation {
    mode: EventValidation,
    store: Arc<dyn Catalogue>,
    webhook_cache: Arc<WebhookCache>,
}

/// What to do with an event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Accept it; with what is wrong, which is to be reported once it is stored.
    Accept(Vec<PayloadFault>),
    Reject(Vec<PayloadFault>),
    /// The snapshot is outdated, so the schema may be, too.
    LookAgain,
}

impl Validation {
    pub(crate) fn new(
        mode: EventValidation,
        store: Arc<dyn Catalogue>,
        webhook_cache: Arc<WebhookCache>,
    ) -> Self {
        Self {
            mode,
            store,
            webhook_cache,
        }
    }

    /// Checks a published event.
    pub(crate) async fn check(
        &self,
        event: &Event,
        payload: &Payload,
        snapshot: &Snapshot,
        now: Timestamp,
    ) -> Result<Verdict> {
        let faults = self.faults(event, payload, snapshot, now).await?;
        if faults.is_empty() || self.mode != EventValidation::Reject {
            return Ok(Verdict::Accept(faults));
        }
        // A rejected event is not stored, so no write would notice that the schema has been corrected.
        let newer = self.webhook_cache.current(&event.tenant, now).await?;
        if newer.version != snapshot.version {
            return Ok(Verdict::LookAgain);
        }
        let operator = TenantId::default();
        if event.tenant != operator {
            self.webhook_cache.current(&operator, now).await?;
        }
        let faults = self.faults(event, payload, snapshot, now).await?;
        Ok(if faults.is_empty() {
            Verdict::Accept(faults)
        } else {
            Verdict::Reject(faults)
        })
    }

    /// What is wrong with the payload, if that matters.
    pub(crate) async fn faults(
        &self,
        event: &Event,
        payload: &Payload,
        snapshot: &Snapshot,
        now: Timestamp,
    ) -> Result<Vec<PayloadFault>> {
        // An example that the operator got wrong should still reach the endpoint that it is sent to as a test.
        if self.mode == EventValidation::Off || event.origin == Origin::Test {
            return Ok(Vec::new());
        }
        let check = |schema: &Schema| schema.faults(payload);
        let own = self.schemas(&event.tenant, snapshot).await?;
        if let Some(schema) = own.get(&event.event_type) {
            return Ok(schema.map(check).unwrap_or_default());
        }
        let operator = TenantId::default();
        if event.tenant == operator {
            return Ok(Vec::new());
        }
        let snapshot = self.webhook_cache.recent(&operator, now).await?;
        let shared = self.schemas(&operator, &snapshot).await?;
        let schema = shared.get(&event.event_type).flatten();
        Ok(schema.map(check).unwrap_or_default())
    }

    async fn schemas(&self, tenant: &TenantId, snapshot: &Snapshot) -> Result<Arc<Schemas>> {
        let load = async || {
            let entries = self.store.event_types(tenant).await?;
            Ok(Arc::new(Schemas::of(entries)))
        };
        snapshot.schemas.get_or_try_init(load).await.cloned()
    }
}
