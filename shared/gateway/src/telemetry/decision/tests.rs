use std::io::Write;
use std::sync::Arc;

use parking_lot::Mutex;
use postrider_domain::decide::decide;
use postrider_domain::delivery::Claimed;
use postrider_domain::ids::TenantId;
use postrider_domain::outcome::{Failure, Response, RetryAfter, Timings};
use postrider_domain::retry::{
    Classifier, OnExhausted, OnRetryAfter, Profile, Redirects, RetryBudget, RetrySettings,
    RuntimeRetry,
};
use postrider_domain::time::Millis;
use postrider_ports::Error;
use postrider_testkit::builders::{NOW, event, lease, row, webhook_id};
use serde_json::Value;

use super::*;

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The one line that is logged, in the format of a function.
fn logged(log: impl FnOnce()) -> Value {
    let lines = Lines::default();
    let written = lines.clone();
    let subscriber = tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_writer(move || written.clone())
        .finish();
    tracing::subscriber::with_default(subscriber, log);
    serde_json::from_slice(&lines.0.lock()).unwrap()
}

fn claimed(attempts: u32, max_attempts: u32) -> Claimed {
    let mut row = row(&event(&TenantId::default(), 1, NOW), webhook_id(1));
    row.attempt_count = attempts;
    row.max_attempts = max_attempts;
    let lease = lease("a process", 1, NOW.plus(Millis::from_seconds(20)));
    row.claim(&lease, NOW).unwrap()
}

fn response(status: u16) -> Response {
    Response {
        status,
        retry_after: None,
        control: None,
        content_type: None,
        body: "secret".to_owned(),
    }
}

fn outcomes() -> Vec<Outcome> {
    let asked = |retry_after| Response {
        retry_after: Some(retry_after),
        ..response(503)
    };
    let at = RetryAfter::At(NOW.plus(Millis::from_seconds(77)));
    let mut results: Vec<_> = [200, 302, 400, 410, 429, 500, 503]
        .map(|status| Answer::Response(response(status)))
        .into();
    results.push(Answer::Response(asked(at)));
    let delay = Millis::from_seconds(1_000_000);
    results.push(Answer::Response(asked(RetryAfter::Delay(delay))));
    for control in [Control::AbortMessage, Control::Disable] {
        results.push(Answer::Response(Response {
            control: Some(control),
            ..response(500)
        }));
    }
    results.extend(FailureKind::ALL.map(|kind| {
        Answer::Failed(Failure {
            kind,
            phase: Phase::Connect,
            detail: "as an example".to_owned(),
        })
    }));
    let timings = Timings::default();
    let outcome = |result| Outcome { result, timings };
    results.into_iter().map(outcome).collect()
}

fn settings(profile: Profile) -> RetrySettings {
    RetrySettings {
        profile,
        ..RetrySettings::default()
    }
}

fn policies() -> Vec<Policy> {
    let mut policies = Vec::new();
    for profile in Profile::ALL
        .into_iter()
        .filter(|one| *one != Profile::Custom)
    {
        let settings = settings(profile);
        for (jitter_bps, budget) in [(None, 0), (Some(0), 2), (Some(5000), 100)] {
            policies.push(settings.policy(RuntimeRetry {
                jitter_bps,
                budget: RetryBudget(budget),
            }));
        }
    }
    policies
}

/// Decides again from the fields of a log line alone.
fn replay(line: &Value) -> Transition {
    let number = |name: &str| line[name].as_u64();
    let text = |name: &str| line[name].as_str();
    let small = |name: &str| u32::try_from(number(name).unwrap()).unwrap();
    let named = |name: &str| text(name).unwrap();
    let classified = Policy {
        classifier: pick(Classifier::ALL, Classifier::as_str, named("classifier")),
        redirects: pick(Redirects::ALL, Redirects::as_str, named("redirects")),
        ..policies().remove(0)
    };
    let policy = match text("delays_ms") {
        None => classified,
        Some(delays) => Policy {
            delays: delays
                .split(',')
                .map(|ms| Millis::new(ms.parse().unwrap()))
                .collect(),
            max_backoff: Millis::new(number("max_backoff_ms").unwrap()),
            jitter_bps: u16::try_from(small("jitter_bps")).unwrap(),
            retry_after: pick(
                OnRetryAfter::ALL,
                OnRetryAfter::as_str,
                named("retry_after"),
            ),
            on_exhausted: pick(OnExhausted::ALL, OnExhausted::as_str, named("on_exhausted")),
            budget: RetryBudget(small("retry_budget")),
            ..classified
        },
    };
    let result = match text("failure_kind") {
        Some(kind) => Answer::Failed(Failure {
            kind: kind.parse().unwrap(),
            phase: named("phase").parse().unwrap(),
            detail: String::new(),
        }),
        None => Answer::Response(Response {
            retry_after: number("retry_after_ms").map(|ms| RetryAfter::Delay(Millis::new(ms))),
            control: text("directive").and_then(Control::parse),
            ..response(u16::try_from(small("status_code")).unwrap())
        }),
    };
    let outcome = Outcome {
        result,
        timings: Timings::default(),
    };
    let claimed = claimed(small("attempt_count") - 1, small("max_attempts"));
    let decided_at = Timestamp::from_millis(line["decided_at_ms"].as_i64().unwrap());
    let jitter = number("jitter").map_or(0, |drawn| u32::try_from(drawn).unwrap());
    decide(&claimed, &outcome, &policy, decided_at, Jitter(jitter))
}

fn pick<T: Copy, const N: usize>(all: [T; N], name: fn(T) -> &'static str, wanted: &str) -> T {
    all.into_iter().find(|one| name(*one) == wanted).unwrap()
}

fn line_of(
    claimed: &Claimed,
    outcome: &Outcome,
    policy: &Policy,
    jitter: Jitter,
    written: impl FnOnce(&Delivery) -> Result<Attempted>,
) -> (Value, Transition) {
    let decided_at = NOW.plus(Millis::new(1234));
    let transition = decide(claimed, outcome, policy, decided_at, jitter);
    let row = claimed.delivery();
    let verdict = transition.verdict();
    let attempt = Attempt::record(1, claimed.version(), NOW, outcome, verdict);
    let decision = Decision {
        row,
        outcome,
        policy,
        decided_at,
        jitter,
        transition,
    };
    let written = written(row);
    (logged(|| log(&decision, &attempt, &written)), transition)
}

fn done(row: &Delivery) -> Result<Attempted> {
    Ok(Attempted::Done(Box::new(row.clone())))
}

#[test]
fn a_decision_can_be_made_again_from_its_log_line() {
    let mut seen = std::collections::BTreeSet::new();
    for outcome in outcomes() {
        for policy in policies() {
            for attempts in [0, 1, 3, 9] {
                for jitter in [0, 1_000_000_000, u32::MAX] {
                    let claimed = claimed(attempts, 10);
                    let (line, transition) =
                        line_of(&claimed, &outcome, &policy, Jitter(jitter), done);
                    assert_eq!(replay(&line), transition, "{line}");
                    assert_eq!(line["decision"], line["outcome"]);
                    seen.insert(line["decision"].as_str().unwrap().to_owned());
                }
            }
        }
    }
    assert!(seen.len() > 6, "{seen:?}");
}

#[test]
fn an_attempt_that_was_not_written_is_not_logged_as_delivered() {
    let (claimed, policy) = (claimed(0, 5), policies().remove(0));
    let delivered = &outcomes()[0];
    let line = |written: fn(&Delivery) -> Result<Attempted>| {
        line_of(&claimed, delivered, &policy, Jitter::NONE, written).0
    };
    let stale = line(|_| Ok(Attempted::Stale));
    assert_eq!(stale["outcome"], "stale");
    let message = "attempt 1 of 5 does not count because another process claimed the delivery: HTTP status 200";
    assert_eq!(stale["message"], message);
    let lost = line(|_| Err(Error::Broken("no".into())));
    assert_eq!(lost["outcome"], "not_written");
    assert_eq!(
        line(done)["message"],
        "attempt 1 of 5 delivered: HTTP status 200"
    );
}

/// `Assumptions` of the AWS bill have these sizes, and 26 bytes more that CloudWatch adds to each line.
#[test]
fn a_line_is_not_longer_than_the_bill_assumes() {
    for policy in policies() {
        for outcome in outcomes() {
            let (line, transition) =
                line_of(&claimed(0, 10), &outcome, &policy, Jitter(u32::MAX), done);
            let most = match transition {
                Transition::Deliver => 624,
                Transition::Retry { .. } | Transition::Die { .. } => 924,
            };
            let bytes = line.to_string().len();
            assert!(bytes <= most, "{bytes} bytes: {line}");
        }
    }
}

#[test]
fn no_part_of_a_body_is_logged() {
    for outcome in outcomes() {
        let (line, _) = line_of(&claimed(0, 5), &outcome, &policies()[0], Jitter::NONE, done);
        assert!(!line.to_string().contains("secret"), "{line}");
    }
}

#[test]
fn the_sentence_says_what_happens_next() {
    let policy = settings(Profile::Gateway).policy(RuntimeRetry {
        jitter_bps: Some(0),
        budget: RetryBudget(0),
    });
    let failed = &outcomes()[5];
    let sentence = |attempts| {
        let claimed = claimed(attempts, 2);
        let (line, _) = line_of(&claimed, failed, &policy, Jitter::NONE, done);
        line["message"].as_str().unwrap().to_owned()
    };
    let wait = policy.delays[0].get() / 1000;
    let retried = format!("attempt 1 of 2 failed, retrying in {wait} s: HTTP status 500");
    assert_eq!(sentence(0), retried);
    assert!(sentence(1).starts_with("attempt 2 of 2 failed, no retry (exhausted"));
}
