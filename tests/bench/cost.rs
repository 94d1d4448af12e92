//! What a delivery costs, in plain requests: one POST of the same body with the same HTTP library in the same run.

use std::path::Path;

use crate::arrivals::Arrivals;
use crate::pipeline::{Pipeline, Requests, Run};
use crate::plan::Plan;
use crate::procfs::Usage;
use crate::report::{Bar, Report};
use crate::scale::Scale;

const OF: &str = "The cost of a delivery, 1 KiB, 32 connections";
const SLOW: u64 = 100;

/// A way to publish, and its targets.
struct Case {
    name: &'static str,
    webhooks: usize,
    requests: Requests,
    /// CPU of the gateway per delivery, in plain requests.
    cpu: f64,
    /// Deliveries per second relative to the bare client.
    rate: f64,
}

const CASES: [Case; 3] = [
    Case {
        name: "one webhook",
        webhooks: 1,
        requests: Requests::Single,
        cpu: 4.0,
        rate: 0.2,
    },
    Case {
        name: "ten webhooks",
        webhooks: 10,
        requests: Requests::Single,
        cpu: 2.5,
        rate: 0.3,
    },
    Case {
        name: "batches of 100",
        webhooks: 1,
        requests: Requests::Batches,
        cpu: 2.5,
        rate: 0.3,
    },
];

pub(crate) async fn measure(
    plan: &Plan,
    disk: &Path,
    arrivals: &Arrivals,
    scale: &Scale,
    report: &mut Report,
) {
    for case in &CASES {
        let mut pipeline = Pipeline::with_webhooks(disk, arrivals, case.webhooks).await;
        let deliveries = plan.cost / 100 * 100;
        let messages = deliveries / case.webhooks as u64;
        let run = pipeline.publish_as(case.requests, messages).await;
        let cpu = describe(case, &run, deliveries as f64, scale, report);
        if case.webhooks == 1 && case.requests == Requests::Single {
            let rows = pipeline.published as f64;
            let size = pipeline.bytes_on_disk() as f64 / 1000.0;
            report.of(OF).against(
                Bar::AtMost(2.0),
                "on disk per delivered row",
                size / rows,
                "KB",
            );
            slow(plan, &mut pipeline, cpu, scale, report).await;
        }
        pipeline.stop().await;
    }
}

fn describe(case: &Case, run: &Run, deliveries: f64, scale: &Scale, report: &mut Report) -> f64 {
    let Usage {
        cpu_seconds,
        written,
        switches,
    } = run.used;
    let name = case.name;
    let (cpu, rate) = (cpu_seconds / deliveries, deliveries / run.delivered_in);
    let mut of = report.of(OF);
    of.measurement(format!("{name}: delivered"), rate, "/s");
    of.measurement(format!("{name}: CPU per delivery"), cpu * 1e6, "µs");
    of.against(
        Bar::AtMost(case.cpu),
        format!("{name}: CPU per delivery, in plain requests"),
        cpu / scale.bare.cpu,
        "",
    );
    of.against(
        Bar::AtLeast(case.rate),
        format!("{name}: delivered ÷ bare client"),
        rate / scale.bare.rate,
        "",
    );
    of.against(
        Bar::AtMost(6.0),
        format!("{name}: written per delivery"),
        written / deliveries / 1000.0,
        "KB",
    );
    of.measurement(
        format!("{name}: waits of a thread per delivery"),
        switches / deliveries,
        "",
    );
    cpu
}

/// The same at a low rate: a gateway with little to do must not pay more for each delivery.
async fn slow(
    plan: &Plan,
    pipeline: &mut Pipeline<'_>,
    flat_out: f64,
    scale: &Scale,
    report: &mut Report,
) {
    let pid = pipeline.gateway.pid();
    let before = Usage::of(pid);
    let messages = pipeline.publish_paced(SLOW, plan.slow).await as f64;
    let used = Usage::of(pid).since(before);
    let mut of = report.of(OF);
    let cpu = used.cpu_seconds / messages;
    of.measurement("100/s: CPU per delivery", cpu * 1e6, "µs");
    of.against(
        Bar::AtMost(3.0),
        "100/s: CPU per delivery ÷ flat out",
        cpu / flat_out,
        "",
    );
    of.measurement(
        "100/s: CPU per delivery, in plain requests at 100/s",
        cpu / scale.bare.slow_cpu,
        "",
    );
    of.against(
        Bar::AtMost(24.0),
        "100/s: written per delivery",
        used.written / messages / 1000.0,
        "KB",
    );
    of.measurement(
        "100/s: waits of a thread per delivery",
        used.switches / messages,
        "",
    );
}
