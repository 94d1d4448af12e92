//! The router by `oneshot`, over a gateway on a real store.

// clippy.toml allows these in test functions, but not in their helpers.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod catalogue_pages;
mod deliveries;
mod document;
mod erasing;
mod event_types;
mod event_validation;
mod events;
mod filters;
mod function;
mod hostile;
mod inspected;
mod inspector;
mod inspector_forms;
mod isolation;
mod keys;
mod log;
mod metrics;
mod portal;
mod portal_walk;
mod problems;
mod rejected;
mod schemes;
mod shadows;
mod sources;
mod stage;
mod stats;
mod stored_events;
mod stream;
mod templates;
mod tenants;
mod transfer;
mod webhooks;
