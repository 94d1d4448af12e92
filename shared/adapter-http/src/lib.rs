//! The sender: one connector that owns resolving, checking and dialling.
//!
//! A webhook's URL is chosen by a stranger and its receiver may be hostile. So every connection goes through
//! the connector, which takes names and IP literals alike, resolves once, refuses if any answer is closed and dials
//! exactly the addresses it checked; and every response is read within bounds of time and size.

mod body;
mod connection;
mod connector;
mod dial;
mod dialling;
mod exchange;
mod failure;
mod resolve;
mod sender;
mod settings;
mod tls;

pub use sender::HttpSender;
pub use settings::{HttpSetupError, SenderSettings};
