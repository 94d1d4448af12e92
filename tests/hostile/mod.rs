//! Hostile input for everything that reads untrusted data. Each function takes arbitrary bytes, derives an input from them
//! and panics when a guarantee is broken. `fuzz/` passes the inputs of a fuzzer; the tests pass a few thousand random
//! texts.

mod api_calls;
mod custom;
mod diagnoses;
mod edits;
mod filters;
mod gateway_events;
mod json_edits;
mod records;
mod requests;
mod scene;
mod schemas;
mod templates;
mod texts;

pub use api_calls::try_api_calls;
pub use custom::try_custom;
pub use diagnoses::try_diagnosis;
pub use filters::try_filter;
pub use gateway_events::try_gateway_event;
pub use records::try_records;
pub use requests::try_request;
pub use schemas::try_schema;
pub use templates::try_template;
pub use texts::try_text;

/// What happened to an input, so a run can tell whether it has tried anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// It was too short.
    Nothing,
    /// It was rejected.
    Rejected,
    /// It was accepted, correctly.
    Accepted,
}
