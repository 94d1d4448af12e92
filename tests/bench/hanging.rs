//! One receiver of ten hangs: how that affects the other nine.

use std::path::Path;

use crate::arrivals::Arrivals;
use crate::gateway::Gateway;
use crate::load;
use crate::plan::Plan;
use crate::receiver::LANES;
use crate::report::{Bar, Report};
use crate::samples::Samples;

/// The rates, each with its heading.
const RATES: [(u64, &str); 2] = [
    (
        100,
        "Ten receivers, 100 messages per second: published → arrived at nine of them",
    ),
    (
        1000,
        "Ten receivers, 1,000 messages per second: published → arrived at nine of them",
    ),
];
const OTHERS: usize = LANES - 1;

pub(crate) async fn measure(plan: &Plan, disk: &Path, arrivals: &Arrivals, report: &mut Report) {
    for (rate, of) in RATES {
        let bench = Hanging {
            plan,
            disk,
            arrivals,
            rate,
            of,
        };
        bench.measure(report).await;
    }
}

struct Hanging<'a> {
    plan: &'a Plan,
    disk: &'a Path,
    arrivals: &'a Arrivals,
    rate: u64,
    of: &'static str,
}

impl Hanging<'_> {
    async fn measure(&self, report: &mut Report) {
        let (mut without, mut with) = (Vec::new(), Vec::new());
        // Alternating, so that other load on the machine affects both.
        for _ in 0..self.plan.rounds {
            without.push(self.round(&self.arrivals.url(OTHERS), report).await);
            with.push(self.round(&self.arrivals.hanging_url(), report).await);
        }
        let (p50, p99) = (Samples::p50_ms, Samples::p99_ms);
        let mut of = report.of(self.of);
        of.measurement("p50, the tenth answers", middle(&without, p50), "ms");
        of.measurement("p50, the tenth hangs 10 s", middle(&with, p50), "ms");
        of.measurement("p99, the tenth answers", middle(&without, p99), "ms");
        of.measurement("p99, the tenth hangs 10 s", middle(&with, p99), "ms");
        of.measurement(
            "p99, the tenth answers, worst round ÷ best",
            noise(&without),
            "",
        );
        let ratio = middle(&with, p99) / middle(&without, p99);
        of.against(Bar::AtMost(1.1), "p99, hangs ÷ answers", ratio, "");
    }

    /// How long messages took to reach the nine.
    async fn round(&self, tenth: &str, report: &mut Report) -> Samples {
        let arrivals = self.arrivals;
        let gateway = Gateway::start(self.disk).await;
        let mut webhooks = Vec::new();
        for lane in 0..OTHERS {
            webhooks.push(gateway.webhook(&arrivals.url(lane)).await);
        }
        webhooks.push(gateway.webhook(tenth).await);
        let published =
            load::paced(gateway.address(), &webhooks, self.rate, self.plan.hanging).await;
        let each = published.messages / webhooks.len() as u64;
        for count in arrivals.wait(OTHERS, each).await {
            report.of(self.of).expect_all(each, count.distinct);
        }
        let mut all = Samples::default();
        for times in arrivals.latencies().await.into_iter().take(OTHERS) {
            all.append(times);
        }
        // Does not wait for the messages that the hanging receiver still holds.
        gateway.kill().await;
        arrivals.forget().await;
        all
    }
}

/// The median of the rounds, so that one hiccup of the disk does not decide.
pub(crate) fn middle(rounds: &[Samples], of_round: fn(&Samples) -> f64) -> f64 {
    let mut measurements: Vec<f64> = rounds.iter().map(of_round).collect();
    measurements.sort_by(f64::total_cmp);
    measurements[measurements.len() / 2]
}

/// How much rounds of the same kind differ: a ratio within this range says nothing.
fn noise(rounds: &[Samples]) -> f64 {
    let p99s = || rounds.iter().map(Samples::p99_ms);
    p99s().fold(0.0, f64::max) / p99s().fold(f64::INFINITY, f64::min)
}
