//! The cost of jitter, and its effect.

use std::hint::black_box;
use std::time::Instant;

use postrider_adapter_system::SystemEntropy;
use postrider_domain::decide::{Transition, decide};
use postrider_domain::delivery::Claimed;
use postrider_domain::ids::TenantId;
use postrider_domain::outcome::{Answer, Outcome, Response, Timings};
use postrider_domain::retry::{Jitter, Policy, RetrySettings, RuntimeRetry};
use postrider_domain::time::Millis;
use postrider_ports::clock::Entropy;
use postrider_testkit::builders::{self, NOW};

use crate::report::Report;
use crate::scale::Scale;

const CALLS: u32 = 1_000_000;
const ROUNDS: usize = 7;
const JITTER_BPS: u16 = 2000;
/// Rows that fail in the same second.
const ROWS: usize = 1000;

pub(crate) fn measure(scale: &Scale, report: &mut Report) {
    let failed = Failed::new();
    let (exact, jittered) = (policy(0), policy(JITTER_BPS));
    let without = nanoseconds(|n| failed.decide(&exact, Jitter(n)));
    let with = nanoseconds(|n| failed.decide(&jittered, Jitter(n)));
    let drawing = nanoseconds(|_| drawn());
    let mut of = report.of("Jitter, per attempt");
    of.measurement("decide, without jitter", without, "ns");
    of.measurement("decide, with jitter", with, "ns");
    of.measurement("drawing the random number", drawing, "ns");
    let extra = (with - without).max(0.0) + drawing;
    let share = extra / (scale.bare.post * 1e6);
    of.measurement("jitter and drawing ÷ one POST on loopback", share, "");
    report.spread(spread(&failed, &jittered));
}

/// A row whose first attempt failed.
struct Failed {
    claimed: Claimed,
    outcome: Outcome,
}

impl Failed {
    fn new() -> Self {
        let event = builders::event(&TenantId::default(), 1, NOW);
        let row = builders::row(&event, builders::webhook_id(1));
        let lease = builders::lease("bench", 1, builders::after(60));
        let response = Response {
            status: 500,
            retry_after: None,
            control: None,
            content_type: None,
            body: String::new(),
        };
        Self {
            claimed: row.claim(&lease, NOW).unwrap(),
            outcome: Outcome {
                result: Answer::Response(response),
                timings: Timings::default(),
            },
        }
    }

    fn decide(&self, policy: &Policy, drawn: Jitter) -> Transition {
        let (claimed, outcome) = (black_box(&self.claimed), black_box(&self.outcome));
        decide(claimed, outcome, black_box(policy), NOW, drawn)
    }

    fn wait(&self, policy: &Policy, drawn: Jitter) -> Millis {
        match self.decide(policy, drawn) {
            Transition::Retry { next_retry_at } => next_retry_at.since(NOW),
            Transition::Deliver | Transition::Die { .. } => panic!("a first failure is retried"),
        }
    }
}

fn policy(jitter_bps: u16) -> Policy {
    let settings = RetrySettings {
        jitter_bps: Some(jitter_bps),
        ..RetrySettings::default()
    };
    settings.policy(RuntimeRetry::default())
}

/// A random number, drawn as the gateway draws it for each attempt.
fn drawn() -> Jitter {
    let entropy: &dyn Entropy = &SystemEntropy;
    Jitter(u32::from_ne_bytes(entropy.bytes()))
}

/// How long one call takes: the best of a few rounds, the one least disturbed by other processes.
fn nanoseconds<T>(call: impl Fn(u32) -> T) -> f64 {
    let round = || {
        let began = Instant::now();
        for n in 0..CALLS {
            black_box(call(black_box(n)));
        }
        began.elapsed().as_nanos() as f64 / f64::from(CALLS)
    };
    (0..ROUNDS).map(|_| round()).fold(f64::INFINITY, f64::min)
}

/// How many seconds after their common failure each row is due.
fn spread(failed: &Failed, policy: &Policy) -> Vec<(String, usize)> {
    let waits: Vec<u64> = (0..ROWS)
        .map(|_| failed.wait(policy, drawn()).get() / 1000)
        .collect();
    let (first, last) = (waits.iter().min().unwrap(), waits.iter().max().unwrap());
    (*first..=*last)
        .map(|second| {
            let rows = waits.iter().filter(|wait| **wait == second).count();
            (format!("{second} s"), rows)
        })
        .collect()
}
