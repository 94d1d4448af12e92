//! The ports over HTTP, for developing functions on one machine.
