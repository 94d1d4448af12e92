//! Calls of a store to the outside that fail while it does something.

use std::ops::Range;

/// Which calls fail, and how.
#[derive(Clone, Debug)]
pub struct Interruption {
    /// Counted from 0.
    pub calls: Range<usize>,
    pub fault: Fault,
}

/// How a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is rejected for now; nothing happens.
    Throttled,
    /// It takes effect, and the answer is lost.
    AnswerLost,
    /// It reaches no server.
    Unreachable,
}
