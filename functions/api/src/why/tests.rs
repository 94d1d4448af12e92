use postrider_domain::attempt::Verdict;
use postrider_domain::ids::TenantId;
use postrider_domain::outcome::{Answer, Failure, Outcome, Phase, Response, Timings};
use postrider_domain::time::Timestamp;
use postrider_testkit::builders::{NOW, event, row, webhook_id};

use super::*;

fn attempt(result: Answer) -> Attempt {
    let timings = Timings::default();
    let outcome = Outcome { result, timings };
    Attempt::record(1, 1, Timestamp::ZERO, &outcome, Verdict::Failure)
}

fn no_answer(kind: FailureKind, phase: Phase) -> Attempt {
    let detail = "so it was".to_owned();
    attempt(Answer::Failed(Failure {
        kind,
        phase,
        detail,
    }))
}

fn answered(status: u16) -> Attempt {
    let (retry_after, body) = (None, String::new());
    attempt(Answer::Response(Response {
        status,
        retry_after,
        body,
        control: None,
        content_type: None,
    }))
}

fn delivery(status: Status, dead_cause: Option<DeadCause>) -> Delivery {
    let row = row(&event(&TenantId::default(), 1, NOW), webhook_id(1));
    Delivery {
        status,
        dead_cause,
        attempt_count: 2,
        ..row
    }
}

#[test]
fn every_kind_of_failure_is_explained_and_has_a_way_out() {
    let row = delivery(Status::Failed, None);
    let mut titles = Vec::new();
    for kind in KINDS {
        let why = explain(&row, Some(&no_answer(kind, Phase::FirstByte)), None).unwrap();
        assert!(
            !why.advice.is_empty() && !why.meaning.is_empty(),
            "{kind:?}"
        );
        titles.push(why.title);
    }
    for status in [
        301, 400, 401, 404, 408, 409, 410, 413, 418, 429, 500, 501, 503, 600,
    ] {
        let why = explain(&row, Some(&answered(status)), None).unwrap();
        assert!(why.title.contains(&status.to_string()) && !why.advice.is_empty());
        titles.push(why.title);
    }
    let count = titles.len();
    titles.sort();
    titles.dedup();
    assert_eq!(titles.len(), count, "each has a title of its own");
}

#[test]
fn a_timeout_is_told_by_where_it_happened() {
    let row = delivery(Status::Failed, None);
    let title = |phase| {
        let attempt = no_answer(FailureKind::Timeout, phase);
        explain(&row, Some(&attempt), None).unwrap().title
    };
    assert!(title(Phase::Dns).contains("Looking up"));
    assert!(title(Phase::Connect).contains("did not take the connection"));
    assert!(title(Phase::Tls).contains("TLS"));
    assert!(title(Phase::FirstByte).contains("took too long to answer"));
}

#[test]
fn what_comes_next_depends_on_where_it_stands() {
    let outlook = |row: &Delivery| explain(row, Some(&answered(500)), None).map(|why| why.outlook);
    let failed = outlook(&delivery(Status::Failed, None)).unwrap();
    assert!(failed.contains("2 of 5"), "{failed}");
    for cause in DeadCause::ALL {
        let dead = outlook(&delivery(Status::Dead, Some(cause))).unwrap();
        assert!(dead.contains("stays dead until somebody retries"), "{dead}");
    }
    let parked = Delivery {
        parked: true,
        ..delivery(Status::Failed, None)
    };
    assert!(outlook(&parked).unwrap().contains("resumed"));
    assert_eq!(outlook(&delivery(Status::Delivered, None)), None);
    assert_eq!(explain(&delivery(Status::Pending, None), None, None), None);
}
