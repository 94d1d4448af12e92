//! The libraries that providers and receivers use, and ours: what one signs, the other verifies. And our metrics, read
//! by Prometheus' own.

mod inbound;
mod libraries;
mod metrics;
mod outbound;
mod samples;

use std::path::{Path, PathBuf};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_owned()
}
