//! The ports over HTTP, for developing functions on one machine: `postrider dev` serves its store and its queue on
//! loopback, and functions built with the feature `local` use them as their own.
//!
//! Each port method is one `POST /ports/<verb>`; `verbs.rs` lists them once for both sides.

mod client;
mod pass;
mod server;
mod verbs;
mod wire;

pub use client::{DevQueue, DevStore, DevTransport};
pub use pass::Pass;
pub use server::{Served, carry_out, router};
