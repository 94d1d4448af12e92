//! Erasures: the content of one event or of a session, or a whole tenant. Done in slices, like bulk retries.

use async_trait::async_trait;
use postrider_domain::event::Label;
use postrider_domain::ids::{ErasureId, EventId, KeyId, TenantId};
use postrider_domain::time::{Millis, Timestamp};
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::history::Cursor;
use crate::jobs::Walk;

/// An erasure, and the record that stays of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Erasure {
    pub id: ErasureId,
    pub subject: Subject,
    /// The key that asked for it.
    pub by: KeyId,
    pub begun_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    pub erased: Erased,
    /// `None` once it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
    /// Incremented by each write of progress; fences off a second process that runs the same slice.
    pub step: u64,
}

/// What is erased.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Subject {
    Event {
        event_id: EventId,
    },
    /// All events with a delivery in the session. The record does not name it any more once it is erased.
    Session {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session_id: Option<Label>,
    },
    /// The tenant with everything in it. Its erasure belongs to the operator.
    Tenant {
        tenant: TenantId,
    },
}

/// How much was erased so far. Events and deliveries of a deleted tenant are counted as they are deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Erased {
    pub events: u64,
    pub deliveries: u64,
    #[serde(default)]
    pub settings: DeletedSettings,
}

/// How far an erasure has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    pub phase: ErasurePhase,
    /// The walk over the list of deliveries.
    pub walk: Walk,
    /// When this walk began.
    pub walk_begun_at: Timestamp,
    /// The events that are being erased. Stored before the first of them changes, so that after a crash each of them is
    /// counted. One that is being attempted stays here.
    #[serde(default)]
    pub slice: Vec<EventId>,
    /// How far the deletion of the rest has come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest: Option<Cursor>,
    /// The next step does not begin earlier.
    pub not_before: Timestamp,
}

/// What is deleted of a tenant at the moment. An erasure has only [`ErasurePhase::Events`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErasurePhase {
    /// Webhooks, sources, keys and event types: first, so that nothing more is sent or accepted.
    Settings,
    /// Events with their deliveries and attempts.
    Events,
    /// Counters, bulk retries, notifications and events without deliveries.
    Rest,
}

impl Erasure {
    #[must_use]
    pub fn new(id: ErasureId, subject: Subject, by: KeyId, now: Timestamp) -> Self {
        let phase = match &subject {
            Subject::Event { .. } | Subject::Session { .. } => ErasurePhase::Events,
            Subject::Tenant { .. } => ErasurePhase::Settings,
        };
        Self {
            id,
            subject,
            by,
            begun_at: now,
            ended_at: None,
            erased: Erased::default(),
            progress: Some(Progress {
                phase,
                walk: Walk::START,
                walk_begun_at: now,
                slice: Vec::new(),
                rest: None,
                not_before: Timestamp::ZERO,
            }),
            step: 0,
        }
    }

    #[must_use]
    pub const fn has_ended(&self) -> bool {
        self.progress.is_none()
    }

    /// What a store writes when `next` is reported as the progress of this stored erasure. `None` if another process was
    /// faster.
    #[must_use]
    pub fn advanced_to(&self, next: &Self) -> Option<Self> {
        (next.step == self.step + 1 && !self.has_ended()).then(|| next.clone())
    }
}

/// The result of erasing or deleting one event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EventErased {
    /// By this call or an earlier one. It has so many deliveries.
    Done {
        deliveries: u64,
    },
    /// A delivery is being attempted, and has to be erased later. Nothing new begins: everything else is erased. To be deleted,
    /// an event waits as a whole.
    InFlight,
    Missing,
}

/// Settings that were deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeletedSettings {
    pub webhooks: u64,
    pub sources: u64,
    pub keys: u64,
    pub event_types: u64,
}

impl DeletedSettings {
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.webhooks + self.sources + self.keys + self.event_types == 0
    }

    pub const fn add(&mut self, more: Self) {
        self.webhooks += more.webhooks;
        self.sources += more.sources;
        self.keys += more.keys;
        self.event_types += more.event_types;
    }
}

/// Stores erasures, and erases. Everything is idempotent: a call that is repeated completes an interrupted one.
#[async_trait]
pub trait Erasures: Send + Sync {
    async fn create_erasure(&self, tenant: &TenantId, erasure: Erasure) -> Result<()>;

    async fn erasure(&self, tenant: &TenantId, id: ErasureId) -> Result<Option<Erasure>>;

    /// Newest first, those before `before`.
    async fn erasures(
        &self,
        tenant: &TenantId,
        limit: usize,
        before: Option<ErasureId>,
    ) -> Result<Vec<Erasure>>;

    /// Records progress and returns the stored erasure. `erasure.step` must follow the stored step: if another process was
    /// faster, nothing changes.
    async fn progress_erasure(
        &self,
        tenant: &TenantId,
        erasure: Erasure,
    ) -> Result<Option<Erasure>>;

    /// Those of all tenants that have not ended.
    async fn unfinished_erasures(&self) -> Result<Vec<(TenantId, Erasure)>>;

    /// Removes the body of an event, its session and the hash of its request, and from its deliveries what
    /// [`Delivery::erased`](postrider_domain::delivery::Delivery::erased) removes, and the texts of their attempts. From then on
    /// [`History::event`](crate::history::History::event) does not find the event, its open deliveries are dead, and a request
    /// with its key conflicts with it; one that a source repeats is a duplicate. No other delivery of it begins.
    async fn erase_event(
        &self,
        tenant: &TenantId,
        id: EventId,
        now: Timestamp,
    ) -> Result<EventErased>;

    /// When an event was erased; `None` if it was not.
    async fn erased_at(&self, tenant: &TenantId, id: EventId) -> Result<Option<Timestamp>>;

    /// Removes a session from the records of the bulk retries that selected by it. Returns whether all of them are done: the
    /// record of one that is not finished still says what it retries.
    async fn erase_from_jobs(&self, tenant: &TenantId, session: &Label) -> Result<bool>;

    /// Makes what was erased unreadable in the files of the store, where it can. Returns whether it did: a reader may be in
    /// the way.
    async fn scrub(&self) -> Result<bool>;

    /// How long after a row was written lists may not show it yet.
    fn lists_lag(&self) -> Millis;

    /// Deletes up to `limit` webhooks, sources with their rejected requests, keys and event types of a tenant. Nothing was left
    /// if it returns none.
    async fn delete_settings(
        &self,
        tenant: &TenantId,
        limit: usize,
        now: Timestamp,
    ) -> Result<DeletedSettings>;

    /// Deletes an event with its body, its deliveries and their attempts. Deliveries that are open end first.
    async fn delete_event(
        &self,
        tenant: &TenantId,
        id: EventId,
        now: Timestamp,
    ) -> Result<EventErased>;

    /// Deletes a part of what a tenant has beside its settings and deliveries, and returns where to continue; `None` if that
    /// was the last part. `limit` bounds what one call examines.
    async fn delete_rest(
        &self,
        tenant: &TenantId,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Option<Cursor>>;

    /// Deletes the record of a tenant that has nothing else any more. It does not exist from then on, but the version of its
    /// webhooks goes on if it is created again.
    async fn forget_tenant(&self, tenant: &TenantId) -> Result<()>;
}
