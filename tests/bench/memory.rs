//! The gateway's memory: right after the start, and after many deliveries.

use std::path::Path;
use std::time::Duration;

use crate::gateway::Gateway;
use crate::pipeline::Pipeline;
use crate::plan::Plan;
use crate::procfs;
use crate::report::{Bar, Report};

const OF: &str = "Memory";
/// How long to wait after the start before memory is read.
const SETTLE: Duration = Duration::from_secs(1);
/// The number of parts after which memory is read. After the first, the caches are full.
const PARTS: u64 = 10;

/// The memory of an idle gateway.
pub(crate) async fn idle(disk: &Path, report: &mut Report) {
    let gateway = Gateway::start(disk).await;
    tokio::time::sleep(SETTLE).await;
    let memory = procfs::memory_mb(gateway.pid());
    report
        .of(OF)
        .against(Bar::AtMost(30.0), "idle after the start", memory, "MB");
    gateway.stop().await;
}

/// The memory of a gateway that is idle again after each part of many deliveries.
pub(crate) async fn growth(plan: &Plan, pipeline: &mut Pipeline<'_>, report: &mut Report) {
    let pid = pipeline.gateway.pid();
    let mut seen = Vec::new();
    for _ in 0..PARTS {
        pipeline.publish(plan.growth / PARTS).await;
        seen.push((pipeline.published, procfs::memory_mb(pid)));
    }
    let ((few, early), (all, late)) = (seen[0], seen[seen.len() - 1]);
    let mut of = report.of(OF);
    of.measurement("deliveries, early", few as f64, "");
    of.measurement("idle after these", early, "MB");
    of.measurement("deliveries in total", all as f64, "");
    of.measurement("idle after these, too", late, "MB");
    of.measurement("peak", procfs::peak_memory_mb(pid), "MB");
    let ratio = late / early;
    of.against(Bar::AtMost(1.1), "flat: idle late ÷ early", ratio, "");
    let arrived = pipeline.arrived().await;
    of.expect_all(all, arrived.distinct);
    let again = arrived.total - arrived.distinct;
    of.measurement("requests beyond the first of a message", again as f64, "");
}
