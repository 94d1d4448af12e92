//! A thousand webhooks, a hundred of which cannot be reached: how that affects the others.

use std::path::Path;

use crate::arrivals::Arrivals;
use crate::gateway::Gateway;
use crate::hanging::middle;
use crate::load;
use crate::plan::Plan;
use crate::receiver::LANES;
use crate::report::{Bar, Report};
use crate::samples::Samples;

const OF: &str =
    "1,000 webhooks, 500 events per second: published → arrived at the 900 healthy ones";
const RATE: u64 = 500;
const HEALTHY: usize = 900;
const DEAD: usize = 100;
/// Nothing listens there.
const NOWHERE: &str = "http://127.0.0.1:9/hook";

pub(crate) async fn measure(plan: &Plan, disk: &Path, arrivals: &Arrivals, report: &mut Report) {
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for _ in 0..plan.crowd_rounds {
        without.push(round(plan, disk, arrivals, 0, report).await);
        with.push(round(plan, disk, arrivals, DEAD, report).await);
    }
    let p99 = Samples::p99_ms;
    let mut of = report.of(OF);
    of.measurement("p99, all answer", middle(&without, p99), "ms");
    of.measurement("p99, 100 are dead", middle(&with, p99), "ms");
    let ratio = middle(&with, p99) / middle(&without, p99);
    of.against(Bar::AtMost(1.2), "p99, with dead ones ÷ without", ratio, "");
}

/// How long messages took to reach the healthy webhooks.
async fn round(
    plan: &Plan,
    disk: &Path,
    arrivals: &Arrivals,
    dead: usize,
    report: &mut Report,
) -> Samples {
    let gateway = Gateway::start(disk).await;
    let mut webhooks = Vec::new();
    for n in 0..HEALTHY + dead {
        let url = if n < HEALTHY {
            arrivals.url(n % LANES)
        } else {
            NOWHERE.to_owned()
        };
        webhooks.push(gateway.webhook(&url).await);
    }
    let published = load::paced(gateway.address(), &webhooks, RATE, plan.crowd).await;
    let is_healthy = |number: &u64| *number as usize % webhooks.len() < HEALTHY;
    let expected = (0..published.messages).filter(is_healthy).count() as u64;
    let arrived = arrivals.wait_in_all(LANES, expected).await;
    report.of(OF).expect_all(expected, arrived);
    let mut all = Samples::default();
    for times in arrivals.latencies().await.into_iter().take(LANES) {
        all.append(times);
    }
    gateway.kill().await;
    arrivals.forget().await;
    all
}
