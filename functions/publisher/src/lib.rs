//! Announces what the table stream tells.
