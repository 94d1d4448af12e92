use super::*;
use crate::outcome::{Failure, Phase, Response, Timings};

fn status(status: u16) -> Outcome {
    let response = Response {
        status,
        retry_after: None,
        control: None,
        content_type: None,
        body: String::new(),
    };
    Outcome {
        result: Answer::Response(response),
        timings: Timings::default(),
    }
}

fn failure(kind: FailureKind) -> Outcome {
    let failure = Failure {
        kind,
        phase: Phase::Connect,
        detail: "test".to_owned(),
    };
    Outcome {
        result: Answer::Failed(failure),
        timings: Timings::default(),
    }
}

#[test]
fn what_an_attempt_says_about_its_receiver() {
    let retry = Transition::Retry {
        next_retry_at: Timestamp::ZERO,
    };
    let exhausted = Transition::Die {
        cause: DeadCause::Exhausted,
    };
    let rejected = Transition::Die {
        cause: DeadCause::Rejected,
    };
    for (outcome, transition, observed) in [
        (status(200), Transition::Deliver, Observed::Delivered),
        (status(429), retry, Observed::TooMany),
        (status(503), retry, Observed::Overloaded),
        (status(500), retry, Observed::Failed),
        (status(404), retry, Observed::Failed),
        (status(404), rejected, Observed::Final),
        (status(503), exhausted, Observed::Overloaded),
        (failure(FailureKind::Timeout), retry, Observed::Overloaded),
        (failure(FailureKind::Connect), retry, Observed::Failed),
        (failure(FailureKind::Dns), exhausted, Observed::Failed),
    ] {
        assert_eq!(Observed::of(&outcome, transition), observed, "{outcome:?}");
    }
}
