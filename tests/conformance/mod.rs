//! The libraries that providers and receivers use, and ours: what one signs, the other verifies. And our metrics, read
//! by Prometheus' own; our traces, read with OpenTelemetry's.

pub(crate) mod collector;
mod inbound;
mod libraries;
mod metrics;
mod outbound;
mod samples;
mod traces;

use std::path::{Path, PathBuf};

pub(super) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_owned()
}
