//! Texts that the API, the Inspector and the CLI share. Pure: every text is derived from values.

pub mod redact;
pub mod rejected;
pub mod request;
pub mod why;
