//! The traits between the use cases and the outside world, with their contracts.
//!
//! Every call that touches stored data takes the [`TenantId`](postrider_domain::ids::TenantId) it is for, so that a
//! forgotten filter does not compile. Expected conditions are values; an [`Error`] means that the gateway could not do its
//! work, and nothing has changed unless the method's docs say otherwise. `testkit::store_suite` proves the contracts on
//! every store.

pub mod backlog;
pub mod catalogue;
pub mod clock;
pub mod configs;
pub mod dead_letters;
pub mod deliveries;
pub mod drains;
pub mod erasures;
mod error;
pub mod first_key;
pub mod flow;
pub mod history;
pub mod housekeeping;
pub mod interventions;
pub mod jobs;
pub mod limiters;
pub mod mail;
pub mod mail_outbox;
pub mod notifications;
pub mod portal_links;
pub mod probes;
pub mod queue;
pub mod rejected;
pub mod schedule;
pub mod sealing;
pub mod sender;
pub mod sessions;
pub mod sources;
pub mod spans;
pub mod start_now;
pub mod tenants;
pub mod traces;
pub mod transfers;
pub mod vitals;
pub mod watch;

pub use error::{Error, Result};

/// What one kind of use case needs from a store: a name for several traits, implemented by every store that has them.
macro_rules! roles {
    ($($(#[$doc:meta])* $role:ident: $first:path $(, $more:path)*;)+) => {$(
        $(#[$doc])*
        pub trait $role: $first $(+ $more)* {}

        impl<T: $first $(+ $more)* + ?Sized> $role for T {}
    )+};
}

roles! {
    /// To run attempts and probes.
    AttemptStore: deliveries::Deliveries, probes::Probes;
    /// To find, rate-limit and claim due deliveries.
    WorkerStore: deliveries::Deliveries, history::History, limiters::Limiters, drains::Drains,
        backlog::Backlog;
    /// To manage webhooks, count their backlogs and end the deliveries of deleted ones.
    WebhookStore: configs::Webhooks, interventions::Interventions, drains::Drains;
    /// To verify and diagnose inbound requests.
    InboundStore: sources::Sources, rejected::RejectedRequests;
    /// To send a stored delivery to another URL.
    ShadowStore: history::History, configs::Webhooks;
    /// To requeue deliveries, one or many.
    RetryStore: history::History, interventions::Interventions, jobs::Jobs;
    /// To erase events and delete tenants.
    ErasureStore: erasures::Erasures, history::History, portal_links::PortalLinks, tenants::Tenants;
    /// To probe, end, requeue and erase deliveries in the background.
    ChoreStore: RetryStore, ErasureStore, probes::Probes;
    /// To find backlogs that nothing drains.
    BacklogStore: backlog::Backlog, limiters::Limiters, drains::Drains;
    /// To report stats.
    StatsStore: history::History, configs::Webhooks, backlog::Backlog;
    /// To export and import everything.
    TransferStore: transfers::Transfers, configs::Webhooks, configs::ApiKeys, sources::Sources, history::History,
        tenants::Tenants, catalogue::Catalogue;
}

/// Everything that every store can do.
pub trait Store:
    deliveries::Deliveries
    + backlog::Backlog
    + limiters::Limiters
    + drains::Drains
    + interventions::Interventions
    + history::History
    + configs::Webhooks
    + probes::Probes
    + configs::ApiKeys
    + sources::Sources
    + rejected::RejectedRequests
    + jobs::Jobs
    + notifications::Notifications
    + sealing::Sealing
    + sessions::Sessions
    + portal_links::PortalLinks
    + vitals::Vitals
    + tenants::Tenants
    + transfers::Transfers
    + catalogue::Catalogue
    + erasures::Erasures
    + AttemptStore
    + WorkerStore
    + WebhookStore
    + InboundStore
    + ShadowStore
    + RetryStore
    + ErasureStore
    + ChoreStore
    + BacklogStore
    + StatsStore
    + TransferStore
{
}

impl<T> Store for T where
    T: deliveries::Deliveries
        + backlog::Backlog
        + limiters::Limiters
        + drains::Drains
        + interventions::Interventions
        + history::History
        + configs::Webhooks
        + probes::Probes
        + configs::ApiKeys
        + sources::Sources
        + rejected::RejectedRequests
        + jobs::Jobs
        + notifications::Notifications
        + sealing::Sealing
        + sessions::Sessions
        + portal_links::PortalLinks
        + vitals::Vitals
        + tenants::Tenants
        + transfers::Transfers
        + catalogue::Catalogue
        + erasures::Erasures
{
}

/// A store in the process that also sends: it knows when rows are due and which subscribers are listening. It deletes
/// nothing on its own; the sweep calls [`Housekeeping`](housekeeping::Housekeeping).
pub trait EmbeddedStore:
    Store
    + schedule::Schedule
    + start_now::AcceptClaimed
    + housekeeping::Housekeeping
    + notifications::NotificationListener
    + rejected::BatchedRejections
    + mail_outbox::MailOutbox
    + mail::Contacts
{
}

impl<T> EmbeddedStore for T where
    T: Store
        + schedule::Schedule
        + start_now::AcceptClaimed
        + housekeeping::Housekeeping
        + notifications::NotificationListener
        + rejected::BatchedRejections
        + mail_outbox::MailOutbox
        + mail::Contacts
{
}
