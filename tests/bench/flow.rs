//! Receivers that fail some requests at any rate: the other messages must not wait for that. Another receiver that fails
//! none gets as many messages at the same time, and shows what this machine takes.

use std::path::Path;
use std::time::Duration;

use crate::arrivals::Arrivals;
use crate::gateway::Gateway;
use crate::load;
use crate::plan::Plan;
use crate::receiver::FLAKY_PER_MILLE;
use crate::report::{Bar, Part, Report};

/// A first attempt that takes longer than the slowest one to the other receiver by this has waited.
const WAITED: Duration = Duration::from_secs(1);
/// The longest wait of a first attempt, in seconds, if a receiver fails up to a quarter.
const LONGEST_S: f64 = 10.0;

/// Receivers at the same time, and how many messages per second each gets.
struct Round {
    of: &'static str,
    each_per_second: u64,
    receivers: &'static [usize],
}

const ROUNDS: [Round; 2] = [
    Round {
        of: "Receivers that fail some, 50 messages per second each, profile standard",
        each_per_second: 50,
        receivers: &[0, 1, 2, 3],
    },
    Round {
        of: "Receivers that fail some, 500 messages per second each, profile standard",
        each_per_second: 500,
        receivers: &[0, 1],
    },
];

pub(crate) async fn measure(plan: &Plan, disk: &Path, arrivals: &Arrivals, report: &mut Report) {
    for round in &ROUNDS {
        measure_round(round, plan, disk, arrivals, report).await;
    }
}

async fn measure_round(
    round: &Round,
    plan: &Plan,
    disk: &Path,
    arrivals: &Arrivals,
    report: &mut Report,
) {
    let gateway = Gateway::start(disk).await;
    let mut webhooks = vec![gateway.webhook_under(&arrivals.url(0), "standard").await];
    for receiver in round.receivers {
        let url = arrivals.flaky_url(*receiver);
        webhooks.push(gateway.webhook_under(&url, "standard").await);
    }
    let rate = round.each_per_second * webhooks.len() as u64;
    let published = load::paced(gateway.address(), &webhooks, rate, plan.flow).await;
    let each = published.messages / webhooks.len() as u64;
    let slowest = arrivals.latencies().await.swap_remove(0).max();
    let mut of = report.of(round.of);
    let slowest_s = slowest.as_secs_f64();
    of.measurement("none fail: slowest first attempt", slowest_s, "s");
    for receiver in round.receivers {
        measure_receiver(*receiver, each, slowest, arrivals, &mut of).await;
    }
    // Does not wait for retries.
    gateway.kill().await;
    arrivals.forget().await;
}

/// What has arrived at the end of the load.
async fn measure_receiver(
    receiver: usize,
    published: u64,
    slowest_otherwise: Duration,
    arrivals: &Arrivals,
    of: &mut Part<'_>,
) {
    let count = arrivals.flaky_count(receiver).await;
    let first = arrivals.flaky_latencies(receiver).await;
    let failing = FLAKY_PER_MILLE[receiver] as f64 / 1000.0;
    let name = |what: &str| format!("{} % fail: {what}", failing * 100.0);
    let delivered = (count.total - count.failed) as f64;
    let share = delivered / published as f64;
    of.measurement(name("published"), published as f64, "");
    of.measurement(name("delivered at the end"), delivered, "");
    let least = Bar::AtLeast((1.0 - failing) * 0.98);
    of.against(least, name("delivered ÷ published"), share, "");
    let waited = first.share_over(slowest_otherwise + WAITED);
    let none = Bar::AtMost(0.0);
    of.against(none, name("first attempts that waited"), waited, "");
    let longer = first.max().saturating_sub(slowest_otherwise).as_secs_f64();
    let most = Bar::AtMost(LONGEST_S);
    of.against(most, name("slowest first attempt, longer by"), longer, "s");
}
