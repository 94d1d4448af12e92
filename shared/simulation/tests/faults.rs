//! A short run of the whole gateway in virtual time while everything fails; `make simulate-faults` runs on.
#![allow(clippy::unwrap_used, clippy::panic, reason = "test code")]

use std::collections::BTreeSet;

use postrider_simulation::{Flaw, Plan, Promise, RunOutcome, Runs, Strikes, report, run, shrink};

const SEEDS: u64 = 12;
/// Within how many seeds a bug has to be found.
const SEEDS_FOR_A_FLAW: u64 = 120;

fn keeps_all_promises(runs: Runs) {
    for seed in 1..=SEEDS {
        let plan = Plan::of(runs, seed);
        if run(&plan).violation.is_some() {
            panic!("{}", report(&shrink(&plan)));
        }
    }
}

#[test]
fn whatever_fails_on_aws_all_promises_are_kept() {
    keeps_all_promises(Runs::OnAws);
}

#[test]
fn whatever_fails_in_the_embedded_gateway_all_promises_are_kept() {
    keeps_all_promises(Runs::Embedded);
}

#[test]
fn a_seed_gives_the_same_run_again() {
    for runs in [Runs::OnAws, Runs::Embedded] {
        for seed in 1..=3 {
            let [first, second] = [(); 2].map(|()| run(&Plan::of(runs, seed)));
            assert!(first.struck.len() > 20, "{}", first.struck.len());
            let lines = first.trace.iter().zip(&second.trace);
            for (line, again) in lines {
                assert_eq!(line, again);
            }
            assert_eq!(first, second);
        }
    }
}

#[test]
fn without_faults_every_attempt_is_counted_once() {
    for runs in [Runs::OnAws, Runs::Embedded] {
        for seed in 1..=3 {
            let plan = Plan {
                strikes: Strikes::Only(BTreeSet::new()),
                ..Plan::of(runs, seed)
            };
            let outcome = run(&plan);
            assert_eq!(outcome.violation, None, "{}", report(&plan));
            assert!(outcome.struck.is_empty() && outcome.requests > 10);
        }
    }
}

/// The first promise that a flaw breaks has to be one of these.
fn finds(flaw: Flaw, expected: &[Promise]) {
    for seed in 1..=SEEDS_FOR_A_FLAW {
        if let Some(violation) = run(&Plan::with(flaw, seed)).violation {
            assert!(expected.contains(&violation.promise), "{violation}");
            return;
        }
    }
    panic!("{flaw:?} was not found");
}

#[test]
fn an_acknowledgement_before_the_write_is_found() {
    finds(Flaw::AcknowledgesEarly, &[Promise::Kept]);
}

#[test]
fn claims_that_ignore_leases_are_found() {
    finds(
        Flaw::IgnoresLeases,
        &[Promise::OneAtATime, Promise::Counted],
    );
}

#[test]
fn results_without_fencing_are_found() {
    finds(Flaw::DoesNotFence, &[Promise::Closed, Promise::Counted]);
}

#[test]
fn a_watcher_that_is_done_too_early_is_found() {
    finds(Flaw::WatchesTooEarly, &[Promise::Found]);
}

#[test]
fn a_failed_row_without_a_lane_is_found() {
    finds(Flaw::ForgetsLanes, &[Promise::Found]);
}

#[test]
fn keys_that_are_forgotten_are_found() {
    // The row is stored again as a new one, without the lane that led to it.
    finds(
        Flaw::ForgetsKeys,
        &[Promise::Closed, Promise::Counted, Promise::Found],
    );
}

#[test]
fn mail_that_ignores_the_sent_log_is_found() {
    finds(Flaw::MailsAlways, &[Promise::OneMail]);
}

#[test]
fn sqlite_that_answers_too_early_is_found() {
    finds(Flaw::AnswersTooEarly, &[Promise::Kept]);
}

#[test]
fn sqlite_that_forgets_claims_is_found() {
    finds(
        Flaw::ForgetsClaims,
        &[Promise::OneAtATime, Promise::Counted],
    );
}

#[test]
fn sqlite_that_overlooks_retries_is_found() {
    finds(Flaw::OverlooksRetries, &[Promise::Kept]);
}

#[test]
fn sqlite_that_forgets_its_mail_is_found() {
    finds(Flaw::MailsAgain, &[Promise::OneMail]);
}

#[test]
fn events_that_are_gone_too_early_are_found() {
    finds(Flaw::ForgetsEvents, &[Promise::Outlived]);
}

#[test]
fn dead_rows_that_expire_too_early_are_found() {
    finds(Flaw::ExpiresDeadEarly, &[Promise::Retained]);
}

#[test]
fn rows_that_expire_unnoticed_are_found() {
    finds(Flaw::OverlooksExpiry, &[Promise::ExpiryReported]);
}

#[test]
fn dead_rows_that_are_swept_too_early_are_found() {
    finds(Flaw::SweepsDeadEarly, &[Promise::Retained]);
}

#[test]
fn a_failing_run_is_shrunk() {
    let fails = |seed: &u64| {
        run(&Plan::with(Flaw::ForgetsKeys, *seed))
            .violation
            .is_some()
    };
    let seed = (1..=SEEDS_FOR_A_FLAW).find(fails).unwrap();
    let plan = Plan::with(Flaw::ForgetsKeys, seed);
    let shrunk = shrink(&plan);
    let [whole, small] = [&plan, &shrunk].map(run);
    let promise = |outcome: RunOutcome| outcome.violation.map(|violation| violation.promise);
    assert!(
        small.struck.len() * 4 < whole.struck.len(),
        "{}",
        report(&shrunk)
    );
    assert_eq!(promise(small), promise(whole));
}
