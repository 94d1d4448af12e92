//! Hostile input for everything that reads what anybody may send. Each function here takes arbitrary bytes, makes
//! something of them, and panics when a promise is broken. `fuzz/` hands them what a fuzzer finds; the gate hands them
//! a few thousand random texts.

mod custom;
mod diagnoses;
mod edits;
mod gateway_events;
mod requests;
mod scene;
mod texts;

pub use custom::try_custom;
pub use diagnoses::try_diagnosis;
pub use gateway_events::try_gateway_event;
pub use requests::try_request;
pub use texts::try_text;

/// What became of an input, so that a run can tell whether it has tried anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// It was too short to make something of.
    Nothing,
    /// It was refused.
    Rejected,
    /// It was accepted, as it had to be.
    Accepted,
}
