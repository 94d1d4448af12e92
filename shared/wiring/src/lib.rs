//! Puts the ports of a function together from its environment.
//!
//! A function's `main` reads its [settings], calls [`start`](settings::CommonSettings::start) and hands what that gives
//! to its handler. Nothing is called before the first event but what an answer cannot do without.

mod aws;
mod deadline;
#[cfg(feature = "local")]
mod dev;
mod environment;
mod first_key;
mod logging;
pub mod metrics;
mod parts;
mod sender;
pub mod settings;
mod traces;

pub use aws::{Aws, store};
pub use deadline::deadline;
pub use parts::Parts;
pub use sender::{LateSender, sender};
pub use traces::traced;
