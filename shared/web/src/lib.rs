//! Shared by all HTTP functions: responses, problems, and reading bodies with limits on size and time.

pub mod answer;
pub mod body;
pub mod envelope;
#[cfg(feature = "lambda")]
pub mod lambda;
pub mod problem;
