//! Publishing one by one, as fast as possible.

use crate::pipeline::Pipeline;
use crate::plan::Plan;
use crate::procfs;
use crate::report::{Bar, Report};
use crate::scale::Scale;

const OF: &str = "Publish one by one, 1 KiB, 32 connections, flat out";

pub(crate) async fn measure(
    plan: &Plan,
    pipeline: &mut Pipeline<'_>,
    scale: &Scale,
    report: &mut Report,
) {
    let pid = pipeline.gateway.pid();
    let cpu_before = procfs::cpu_seconds(pid);
    let run = pipeline.publish(plan.flat_out).await;
    let cpu = procfs::cpu_seconds(pid) - cpu_before;

    let messages = plan.flat_out as f64;
    let delivered = messages / run.delivered_in;
    let (p50, p99) = (run.accept.p50_ms(), run.accept.p99_ms());
    let mut of = report.of(OF);
    of.measurement("accepted", messages / run.accepted_in, "/s");
    of.measurement("delivered", delivered, "/s");
    let ceiling = scale.ceiling();
    of.measurement("ceiling: min(bare client, 32 ÷ 1.5 fsync)", ceiling, "/s");
    let share = delivered / ceiling;
    of.against(Bar::AtLeast(0.08), "delivered ÷ ceiling", share, "");
    let cpu = cpu * 1000.0 / messages;
    of.against(Bar::AtMost(0.18), "CPU per 1,000 deliveries", cpu, "s");
    of.measurement("accept, p50", p50, "ms");
    of.measurement("accept, p99", p99, "ms");
    of.against(Bar::AtMost(4.0), "accept, p99 ÷ p50", p99 / p50, "");
}
