//! Publishing at a steady rate while everything is delivered.

use std::path::Path;
use std::time::Duration;

use crate::arrivals::Arrivals;
use crate::gateway::Gateway;
use crate::plan::Plan;
use crate::report::{Bar, Report};
use crate::samples::Samples;
use crate::scale::Scale;
use crate::{disk, load};

const OF: &str = "Accept at 1,000 per second, while delivering";
const RATE: u64 = 1000;

pub(crate) async fn measure(
    plan: &Plan,
    disk: &Path,
    arrivals: &Arrivals,
    scale: &Scale,
    report: &mut Report,
) {
    let alone = disk_alone(plan, disk);
    let gateway = Gateway::start(disk).await;
    let webhooks = [gateway.webhook(&arrivals.url(0)).await];
    let published = load::paced(gateway.address(), &webhooks, RATE, plan.paced).await;
    let count = arrivals.wait(1, published.messages).await[0];
    let arrival = arrivals.latencies().await.swap_remove(0);
    let (p50, p99) = (published.accept.p50_ms(), published.accept.p99_ms());
    let mut of = report.of(OF);
    of.expect_all(published.messages, count.distinct);
    of.measurement("accept, p50", p50, "ms");
    of.measurement("accept, p99", p99, "ms");
    let ratio = p99 / scale.fsync.max(1.0);
    of.against(
        Bar::AtMost(10.0),
        "accept, p99 ÷ max(fsync, 1 ms)",
        ratio,
        "",
    );
    of.measurement("the disk alone, synced as often, p99", alone.p99_ms(), "ms");
    of.against(
        Bar::AtMost(3.0),
        "accept, p99 ÷ the disk alone",
        p99 / alone.p99_ms(),
        "",
    );
    of.against(
        Bar::AtMost(3.0),
        "published → arrived, p99 ÷ the disk alone",
        arrival.p99_ms() / alone.p99_ms(),
        "",
    );
    of.measurement("published → arrived, p50", arrival.p50_ms(), "ms");
    of.measurement("published → arrived, p99", arrival.p99_ms(), "ms");
    gateway.stop().await;
    arrivals.forget().await;
}

/// How long the disk takes at this rate without a gateway: a long tail there is a long tail in every accept.
fn disk_alone(plan: &Plan, disk: &Path) -> Samples {
    let appends = plan.paced.as_secs() * RATE / 4;
    disk::appends(appends as usize, Duration::from_secs(1) / RATE as u32, disk)
}
