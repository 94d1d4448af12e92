//! Publishing one by one as fast as it goes, and memory while that lasts.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::arrivals::Arrivals;
use crate::gateway::Gateway;
use crate::plan::Plan;
use crate::report::{Bar, Report};
use crate::scale::Scale;
use crate::{load, message, procfs};

const OF: &str = "Publish one by one, 1 KiB, 32 connections, flat out";
const MEMORY: &str = "Memory";
/// Events before the measured ones: connections are made, statements are parsed.
const WARM_UP: u64 = 1000;
/// How long a started gateway is left alone before its memory is read.
const SETTLE: Duration = Duration::from_secs(1);
/// In how many parts memory is watched.
const PARTS: u64 = 10;

pub(crate) async fn measure(
    plan: &Plan,
    disk: &Path,
    arrivals: &Arrivals,
    scale: &Scale,
    report: &mut Report,
) {
    let gateway = Gateway::start(disk).await;
    tokio::time::sleep(SETTLE).await;
    let at_start = procfs::memory_mb(gateway.pid());
    let webhook = gateway.webhook(&arrivals.url(0)).await;
    run(&gateway, &webhook, 0..WARM_UP, arrivals).await;
    let measured = WARM_UP..WARM_UP + plan.flat_out;
    throughput(
        &gateway,
        &webhook,
        measured.clone(),
        arrivals,
        scale,
        report,
    )
    .await;

    report.against(
        Bar::AtMost(30.0),
        MEMORY,
        "idle after the start",
        at_start,
        "MB",
    );
    let after = growth(&gateway, &webhook, measured.end, plan.growth, arrivals).await;
    let (early, late) = (after[1], after[after.len() - 1]);
    report.figure(MEMORY, "idle after a tenth of the deliveries", early, "MB");
    report.figure(MEMORY, "idle after all deliveries", late, "MB");
    let peak = procfs::peak_memory_mb(gateway.pid());
    report.figure(MEMORY, "peak", peak, "MB");
    let all = measured.end + plan.growth;
    report.figure(MEMORY, "deliveries", all as f64, "");
    report.against(
        Bar::AtMost(1.1),
        MEMORY,
        "all ÷ a tenth: flat",
        late / early,
        "",
    );
    let count = arrivals.first_lane_has(all).await;
    report.expect_all(OF, all, count.distinct);
    report.figure(
        OF,
        "requests beyond the first of each message",
        (count.total - count.distinct) as f64,
        "",
    );
    gateway.stop().await;
    arrivals.forget().await;
}

async fn throughput(
    gateway: &Gateway,
    webhook: &str,
    numbers: std::ops::Range<u64>,
    arrivals: &Arrivals,
    scale: &Scale,
    report: &mut Report,
) {
    let messages = (numbers.end - numbers.start) as f64;
    let cpu_before = procfs::cpu_seconds(gateway.pid());
    let (began, began_at) = (Instant::now(), message::now());
    let accept = load::flat_out(gateway.address(), webhook, numbers.clone()).await;
    let accepted_in = began.elapsed().as_secs_f64();
    let count = arrivals.first_lane_has(numbers.end).await;
    let delivered_in = count.last_new_at.saturating_sub(began_at) as f64 / 1e6;
    gateway.idle().await;
    let cpu = procfs::cpu_seconds(gateway.pid()) - cpu_before;

    let (p50, p99) = (accept.p50_ms(), accept.p99_ms());
    let delivered = messages / delivered_in;
    report.figure(OF, "accepted", messages / accepted_in, "/s");
    report.figure(OF, "delivered", delivered, "/s");
    report.figure(
        OF,
        "ceiling: min(bare client, 32 ÷ 1.5 fsync)",
        scale.ceiling(),
        "/s",
    );
    report.against(
        Bar::AtLeast(0.08),
        OF,
        "delivered ÷ ceiling",
        delivered / scale.ceiling(),
        "",
    );
    report.against(
        Bar::AtMost(0.18),
        OF,
        "CPU of the gateway per 1,000 deliveries",
        cpu * 1000.0 / messages,
        "s",
    );
    report.figure(OF, "accept, p50", p50, "ms");
    report.figure(OF, "accept, p99", p99, "ms");
    report.against(Bar::AtMost(4.0), OF, "accept, p99 ÷ p50", p99 / p50, "");
}

/// The gateway's memory, each time it is idle, between parts of many deliveries.
async fn growth(
    gateway: &Gateway,
    webhook: &str,
    first: u64,
    messages: u64,
    arrivals: &Arrivals,
) -> Vec<f64> {
    let mut memory = vec![procfs::memory_mb(gateway.pid())];
    for part in 0..PARTS {
        let of_part = first + messages * part / PARTS..first + messages * (part + 1) / PARTS;
        run(gateway, webhook, of_part, arrivals).await;
        memory.push(procfs::memory_mb(gateway.pid()));
    }
    memory
}

async fn run(gateway: &Gateway, webhook: &str, numbers: std::ops::Range<u64>, arrivals: &Arrivals) {
    load::flat_out(gateway.address(), webhook, numbers.clone()).await;
    arrivals.first_lane_has(numbers.end).await;
    gateway.idle().await;
}
