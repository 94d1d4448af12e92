//! Sends webhook requests over HTTP/1.1 and turns whatever the receiver does into an `Outcome`.
//!
//! A webhook's URL is chosen by a stranger and its receiver may be hostile. Two rules follow. Every connection goes
//! through the connector, which treats names and IP literals alike, resolves once, blocks the request if any address is
//! not allowed, and dials exactly the addresses it checked. And every response is read within limits of time and size,
//! so a receiver can exhaust neither memory nor time.
//!
//! The sender never follows a redirect, uses a proxy or repeats a request; retries are up to the gateway.
//!
//! Start with `sender.rs` (one POST), then `exchange.rs` (its progress), `connection.rs` with `pool.rs`, and `connector.rs` with `resolve.rs` and
//! `dial.rs`. `failure.rs` has every reason that a user may read; `own_fault.rs` and `network.rs` tell
//! which of them are not the receiver's. `tests/suite/hostile.rs` lists what receivers try.

mod body;
mod connection;
mod connector;
mod dial;
mod dialling;
mod exchange;
mod failure;
mod limits;
mod network;
mod own_fault;
mod pool;
mod reference;
mod resolve;
mod sender;
mod settings;
mod tls;

pub use sender::HttpSender;
pub use settings::{HttpSetupError, SenderSettings};
