//! The sender with real sockets and a real name server, all on loopback: no packet leaves the machine.

// clippy.toml allows these only in test functions, and helpers are not test functions.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod connecting;
mod egress;
mod hostile;
mod names;
mod ordinary;
mod own_faults;
mod receiver;
mod sending;
mod tls;
