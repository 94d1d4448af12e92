//! The router by `oneshot`, over a gateway on a real store.

// clippy.toml allows these in test functions, but not in their helpers.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod deliveries;
mod document;
mod events;
mod filters;
mod function;
mod hostile;
mod inspected;
mod inspector;
mod inspector_forms;
mod keys;
mod log;
mod metrics;
mod problems;
mod rejected;
mod schemes;
mod shadows;
mod sources;
mod stage;
mod stats;
mod stream;
mod transfer;
mod webhooks;
