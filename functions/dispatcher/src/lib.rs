//! Attempts the deliveries that hints name.
