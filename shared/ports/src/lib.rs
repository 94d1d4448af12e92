//! The traits between the use-cases and the world, with their contracts.
//!
//! Every call that touches stored data takes the [`TenantId`](postrider_domain::ids::TenantId) it is for, so that a
//! forgotten filter does not compile. Expected conditions are values; an [`Error`] means that *we* could not do our
//! work, and nothing has changed unless the verb's docs say otherwise.

pub mod backlog;
pub mod clock;
pub mod configs;
pub mod deliveries;
mod error;
pub mod first_key;
pub mod history;
pub mod housekeeping;
pub mod interventions;
pub mod jobs;
pub mod letters;
pub mod mail;
pub mod notices;
pub mod pace;
pub mod queue;
pub mod refusals;
pub mod schedule;
pub mod sealing;
pub mod sender;
pub mod sources;
pub mod testing;
pub mod traces;

pub use error::{Error, Result};

/// Everything that is stored, wherever the gateway runs.
pub trait Store:
    deliveries::Deliveries
    + backlog::Backlog
    + pace::Pacing
    + interventions::Interventions
    + history::History
    + configs::Webhooks
    + testing::Testing
    + configs::Keys
    + sources::Sources
    + refusals::Refusals
    + jobs::Jobs
    + notices::Notices
    + sealing::Sealing
{
}

impl<T> Store for T where
    T: deliveries::Deliveries
        + backlog::Backlog
        + pace::Pacing
        + interventions::Interventions
        + history::History
        + configs::Webhooks
        + testing::Testing
        + configs::Keys
        + sources::Sources
        + refusals::Refusals
        + jobs::Jobs
        + notices::Notices
        + sealing::Sealing
{
}

/// A store that lives in the process which also sends: it knows what is due when, who listens, and forgets by itself
/// nothing.
pub trait EmbeddedStore:
    Store
    + schedule::Schedule
    + housekeeping::Housekeeping
    + notices::Listening
    + letters::Mailbag
    + mail::Contacts
{
}

impl<T> EmbeddedStore for T where
    T: Store
        + schedule::Schedule
        + housekeeping::Housekeeping
        + notices::Listening
        + letters::Mailbag
        + mail::Contacts
{
}
