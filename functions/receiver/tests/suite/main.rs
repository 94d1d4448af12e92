//! The router by `oneshot`, over a gateway on a real store.

// Helpers of tests are no test functions, which is where clippy.toml allows these.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod every_scheme;
mod function;
mod handshakes;
mod keeping;
mod receiving;
mod refusing;
mod stage;
