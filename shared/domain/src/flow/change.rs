//! What happened to a limiter, for logs and metrics.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// The webhook is limited.
    Entered(Rates),
    Cut(Rates),
    Raised(Rates),
    /// The webhook is no longer limited.
    Opened(Rates),
    /// Nothing waited for a minute; the webhook is as if new.
    Reset(Rates),
}

/// The rate before and after a change, in thousandths of an attempt per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rates {
    pub from_milli: u32,
    pub to_milli: u32,
}

impl Change {
    /// Every name.
    pub const NAMES: [&str; 5] = ["entered", "cut", "raised", "opened", "reset"];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Entered(_) => "entered",
            Self::Cut(_) => "cut",
            Self::Raised(_) => "raised",
            Self::Opened(_) => "opened",
            Self::Reset(_) => "reset",
        }
    }

    #[must_use]
    pub const fn rates(self) -> Rates {
        match self {
            Self::Entered(rates)
            | Self::Cut(rates)
            | Self::Raised(rates)
            | Self::Opened(rates)
            | Self::Reset(rates) => rates,
        }
    }
}
