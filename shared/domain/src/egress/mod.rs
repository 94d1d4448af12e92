//! Where requests may go. Webhook URLs are untrusted input, so they are checked when they are saved and again at each
//! attempt, when the host's addresses are known.

mod address;
mod blocked;
mod name;
mod rules;

#[cfg(test)]
mod cases;

pub use blocked::Blocked;
pub use rules::{Rules, Settings, SettingsError, UrlScheme};

pub const MAX_URL_CHARS: usize = 2048;
