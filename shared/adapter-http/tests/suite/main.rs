//! The sender against real sockets and a real name server, all on loopback: no packet leaves the machine.

// Helpers of tests are no test functions, which is where clippy.toml allows these.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod egress;
mod hostile;
mod names;
mod ordinary;
mod receiver;
mod sending;
mod tls;
