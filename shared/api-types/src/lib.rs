//! The JSON shapes that the API, the Inspector and the CLI share, and the names in them.
//!
//! Every type reads and writes the same JSON, so the gateway and its clients cannot drift apart. Responses ignore unknown
//! fields when they are read, and [`Word`] keeps values that only a newer gateway knows: an older CLI can still read
//! them. Inputs reject unknown fields and values.

pub mod delivery;
pub mod duration;
pub mod erasure;
pub mod event;
pub mod event_type;
pub mod filter;
#[cfg(feature = "cli")]
pub mod flag;
pub mod job;
pub mod json;
pub mod key;
pub mod notification;
pub mod parameters;
mod patch;
pub mod payload_filter;
pub mod portal;
pub mod pretty;
pub mod problem;
pub mod rejected;
pub mod retry;
pub mod schema;
pub mod secret;
pub mod shadow;
pub mod source;
pub mod stats;
pub mod template;
pub mod tenant;
pub mod time;
pub mod transfer;
pub mod unique_json;
pub mod usage;
pub mod webhook;
pub mod why;
pub mod word;

pub use time::ApiTime;
pub use word::{Vocabulary, Word};
