//! Erasures, and the deletion of tenants.

use postrider_domain::tenant::Deletion;
use postrider_ports::erasures::{Erasure, ErasurePhase, Subject};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::parameters;
use crate::schema;
use crate::time::ApiTime;

/// How many erasures a page has unless the request says otherwise.
pub const DEFAULT_PAGE: usize = 50;

parameters! {
    /// Which part of the list of erasures.
    pub struct ErasurePageParameters as "ErasurePage" {
        /// The maximum number of erasures; 50 by default.
        limit: schema::PageLimit,
        /// The `next_cursor` of the previous page.
        cursor: schema::ErasureId,
    }
}

/// An erasure: its progress, and then the record of it. It contains nothing of what was erased.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Erasure)]
pub struct ErasureView {
    #[schema(value_type = schema::ErasureId)]
    pub id: String,
    /// What is erased: the content of one `event` or of a `session`, or a `tenant` with everything in it.
    #[schema(value_type = schema::ErasureKind)]
    pub kind: String,
    /// `running` or `done`.
    #[schema(value_type = schema::ErasureState)]
    pub state: String,
    /// The event, for `event`.
    #[schema(required, value_type = Option<schema::EventId>)]
    pub event_id: Option<String>,
    /// The tenant, for `tenant`.
    #[schema(required)]
    pub tenant: Option<String>,
    /// What is being deleted of a tenant: its `settings`, its `events`, or the `rest`. `null` otherwise.
    #[schema(required, value_type = Option<schema::ErasurePhase>)]
    pub phase: Option<String>,
    /// How many events were erased so far.
    pub events: u64,
    /// How many deliveries these events have.
    pub deliveries: u64,
    /// How many webhooks of a tenant were deleted so far.
    pub webhooks: u64,
    pub sources: u64,
    pub keys: u64,
    pub event_types: u64,
    /// The key that asked for it.
    #[schema(value_type = schema::KeyId)]
    pub key_id: String,
    pub begun_at: ApiTime,
    /// `null` while it runs.
    #[schema(required)]
    pub ended_at: Option<ApiTime>,
}

impl ErasureView {
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.ended_at.is_none()
    }
}

/// The values of `kind`.
pub const KINDS: [&str; 3] = ["event", "session", "tenant"];
/// The values of `state`.
pub const STATES: [&str; 2] = ["running", "done"];
/// The values of `phase`.
pub const PHASES: [&str; 3] = ["settings", "events", "rest"];

impl From<Erasure> for ErasureView {
    fn from(erasure: Erasure) -> Self {
        let (kind, event_id, tenant) = match &erasure.subject {
            Subject::Event { event_id } => ("event", Some(event_id.to_string()), None),
            Subject::Session { .. } => ("session", None, None),
            Subject::Tenant { tenant } => ("tenant", None, Some(tenant.to_string())),
        };
        let phase = erasure.progress.as_ref().map(|progress| progress.phase);
        let phase = phase.filter(|_| tenant.is_some()).map(|phase| match phase {
            ErasurePhase::Settings => "settings",
            ErasurePhase::Events => "events",
            ErasurePhase::Rest => "rest",
        });
        let [running, done] = STATES;
        let state = if erasure.has_ended() { done } else { running };
        let settings = erasure.erased.settings;
        Self {
            id: erasure.id.to_string(),
            kind: kind.to_owned(),
            state: state.to_owned(),
            event_id,
            tenant,
            phase: phase.map(ToOwned::to_owned),
            events: erasure.erased.events,
            deliveries: erasure.erased.deliveries,
            webhooks: settings.webhooks,
            sources: settings.sources,
            keys: settings.keys,
            event_types: settings.event_types,
            key_id: erasure.by.to_string(),
            begun_at: ApiTime(erasure.begun_at),
            ended_at: erasure.ended_at.map(ApiTime),
        }
    }
}

/// A page of erasures, newest first.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ErasureList {
    pub items: Vec<ErasureView>,
    /// Where to continue; `null` at the end.
    #[schema(required)]
    pub next_cursor: Option<String>,
}

/// The deletion of a tenant that is under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = TenantDeletion)]
pub struct DeletionView {
    /// Reports the progress.
    #[schema(value_type = schema::ErasureId)]
    pub erasure_id: String,
    pub begun_at: ApiTime,
}

impl From<Deletion> for DeletionView {
    fn from(deletion: Deletion) -> Self {
        Self {
            erasure_id: deletion.erasure.to_string(),
            begun_at: ApiTime(deletion.begun_at),
        }
    }
}
