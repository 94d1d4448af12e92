//! Shared by all HTTP functions: responses, problems, and reading bodies with limits on size and time.

pub mod answer;
pub mod body;
pub mod envelope;
pub mod ids;
#[cfg(feature = "lambda")]
pub mod lambda;
pub mod origin;
pub mod problem;
pub mod recognised;
pub mod requests;
pub mod stream;
