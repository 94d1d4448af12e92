//! Assembles the ports of a function from its environment.
//!
//! A function's `main` reads its [settings], calls [`start`](settings::CommonSettings::start), assembles its [`Parts`]
//! and passes them to its handler. Before the first event, it makes only the calls that a response needs.

mod aws;
mod deadline;
pub mod metrics;
mod parts;
mod sender;
pub mod settings;
mod telemetry;
mod topic;

pub use aws::{Aws, store};
pub use deadline::deadline;
pub use parts::Parts;
pub use sender::{LateSender, sender};
pub use telemetry::traced;
pub use topic::topic;
