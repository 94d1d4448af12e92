//! Receives signed webhooks.
