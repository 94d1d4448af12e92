//! How long the disk takes to make a small append durable.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::plan::Plan;
use crate::report::Report;
use crate::samples::Samples;

const PAGE: [u8; 4096] = [7; 4096];

/// The median of many, in milliseconds.
pub(crate) fn measure(plan: &Plan, disk: &Path, report: &mut Report) -> f64 {
    let times = appends(plan.syncs, Duration::ZERO, disk);
    let mut of = report.of("This machine");
    of.measurement("append and fdatasync of 4 KiB, p50", times.p50_ms(), "ms");
    of.measurement("append and fdatasync of 4 KiB, p99", times.p99_ms(), "ms");
    times.p50_ms()
}

/// How long each of this many appends took, started at this interval.
pub(crate) fn appends(count: usize, apart: Duration, disk: &Path) -> Samples {
    let mut file = File::create(disk.join("appended")).unwrap();
    let mut times = Samples::default();
    let mut due = Instant::now();
    for _ in 0..count {
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        due += apart;
        let began = Instant::now();
        file.write_all(&PAGE).unwrap();
        file.sync_data().unwrap();
        times.since(began);
    }
    times
}
