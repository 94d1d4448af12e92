//! The router called by `oneshot`, with a gateway on a real store.

// clippy.toml allows these only in test functions, and helpers are not test functions.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod every_scheme;
mod function;
mod handshakes;
mod receiving;
mod rejecting;
mod rejections;
mod stage;
