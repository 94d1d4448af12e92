//! Pure decisions of the webhook gateway: no I/O, no clock, no randomness.
//!
//! All decisions are made here, for both ways of running the gateway. Time, randomness and the outside world come in as
//! values.

pub mod alert;
pub mod attempt;
pub mod decide;
pub mod delivery;
pub mod diagnosis;
pub mod egress;
pub mod event;
pub mod event_catalogue;
pub mod flow;
pub mod handshake;
pub mod headers;
pub mod health;
pub mod ids;
pub mod inbound;
pub mod invalid;
pub mod json_schema;
pub mod key;
pub mod key_stats;
pub mod notification;
pub mod outcome;
pub mod pattern;
pub mod payload_filter;
pub mod portal;
pub mod rejected;
pub mod request;
pub mod retention;
pub mod retry;
pub mod route;
pub mod scheme;
pub mod secret;
pub mod shadow;
pub mod signature;
pub mod source;
pub mod stats;
pub mod template;
pub mod tenant;
pub mod test_event;
pub mod time;
pub mod transfer;
pub mod webhook;
