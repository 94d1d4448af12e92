//! Where requests may go. A webhook's URL is chosen by a stranger, so it is checked when it is saved and again at each
//! attempt, when the addresses behind its name are known.

mod address;
mod blocked;
mod name;
mod rules;

#[cfg(test)]
mod cases;

pub use blocked::Blocked;
pub use rules::{Rules, Settings, SettingsError, UrlScheme};

/// How many characters a URL may have.
pub const MAX_URL_CHARS: usize = 2048;
