//! What the gateway uses, as Linux counts it.

use std::path::Path;
use std::time::Duration;

use postrider_tests::command::Serve;

use crate::receivers::Receivers;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sample {
    pub(crate) minutes: f64,
    pub(crate) memory_mb: f64,
    pub(crate) descriptors: f64,
    pub(crate) threads: f64,
    /// Files in the data directory.
    pub(crate) files: f64,
    pub(crate) database_mb: f64,
    pub(crate) log_mb: f64,
    pub(crate) requests: f64,
    pub(crate) p99_ms: f64,
    /// Whether the gateway was killed right after it.
    pub(crate) is_disturbed: bool,
}

impl Sample {
    pub(crate) fn take(gateway: &Serve, data: &Path, receivers: &Receivers, at: Duration) -> Self {
        let pid = gateway.pid();
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let number = line.and_then(|rest| rest.split_whitespace().next());
            number.unwrap().parse::<f64>().unwrap()
        };
        let count = |folder: &Path| std::fs::read_dir(folder).unwrap().count() as f64;
        let size = |name: &str| {
            let file = std::fs::metadata(data.join(name));
            file.map_or(0.0, |file| file.len() as f64 / 1e6)
        };
        Self {
            minutes: at.as_secs_f64() / 60.0,
            memory_mb: field("VmRSS:") * 1024.0 / 1e6,
            descriptors: count(Path::new(&format!("/proc/{pid}/fd"))),
            threads: field("Threads:"),
            files: count(data),
            database_mb: size("postrider.db"),
            log_mb: size("postrider.db-wal"),
            requests: receivers.requests() as f64,
            p99_ms: receivers.take_p99_ms(),
            is_disturbed: false,
        }
    }
}
