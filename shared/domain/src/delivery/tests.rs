use super::*;
use crate::ids::{EventId, WebhookId};

pub(crate) const NOW: Timestamp = Timestamp::from_millis(1_771_668_000_000);
const MS: Millis = Millis::new(1);

/// A row that was attempted once and is due now, if it is open.
pub(crate) fn row(status: Status) -> Delivery {
    Delivery {
        id: DeliveryId {
            event: EventId::from_bytes([1; 16]),
            webhook: WebhookId::from_bytes([2; 16]),
        },
        tenant: TenantId::default(),
        event_type: "task.completed".parse().unwrap(),
        session_id: Some("session".parse().unwrap()),
        intent: Some("intent".parse().unwrap()),
        target_url: "https://receiver.example/hook?order=7".to_owned(),
        signature: "sha256=0".to_owned(),
        status,
        dead_cause: None,
        attempt_count: 1,
        attempts_total: 1,
        max_attempts: 5,
        last_attempted_at: None,
        next_retry_at: status.is_open().then_some(NOW),
        created_at: NOW,
        error_detail: Some("500: oops".to_owned()),
        last_status: Some(500),
        generation: 0,
        in_backlog: false,
        version: 6,
        lease_owner: None,
        lease_until: Timestamp::ZERO,
    }
}

fn lease(claim: u64) -> Lease {
    let process = "process".to_owned();
    Lease {
        owner: LeaseOwner { process, claim },
        until: NOW.plus(Millis::from_seconds(20)),
    }
}

fn held() -> Delivery {
    let claimed = row(Status::Pending).claim(&lease(1), NOW).unwrap();
    claimed.delivery().clone()
}

#[test]
fn each_name_is_read_back() {
    for status in Status::ALL {
        assert_eq!(status.to_string().parse(), Ok(status));
        let name = serde_json::to_value(status).unwrap();
        assert_eq!(name, status.as_str(), "one name in every store");
    }
    assert_eq!("open".parse::<Status>(), Err(StatusError));
    for cause in DeadCause::ALL {
        assert_eq!(serde_json::to_value(cause).unwrap(), cause.as_str());
    }
}

#[test]
fn a_lease_is_valid_through_its_last_millisecond() {
    let held = held();
    let until = lease(1).until;
    assert!(held.is_held(NOW) && held.is_held(until));
    assert!(!held.is_held(until.plus(MS)));
    assert!(!row(Status::Pending).is_held(Timestamp::ZERO));
}

#[test]
fn a_claim_holds_the_row_and_raises_its_version() {
    let free = row(Status::Failed);
    let claimed = free.clone().claim(&lease(1), NOW).unwrap();
    let expected = Delivery {
        version: 7,
        lease_owner: Some(lease(1).owner),
        lease_until: lease(1).until,
        ..free
    };
    assert_eq!(claimed.delivery(), &expected);
    assert_eq!((claimed.version(), claimed.owner()), (7, &lease(1).owner));
    assert!(!expected.is_fresh());
    let accepted = Delivery {
        version: 0,
        ..expected
    };
    assert!(accepted.is_fresh());
}

#[test]
fn a_held_row_is_claimed_by_its_owner_only() {
    let held = held();
    assert!(held.is_claimed_by(&lease(1).owner) && !held.is_claimed_by(&lease(2).owner));
    let theirs = held.clone().claim(&lease(2), NOW);
    assert_eq!(theirs, Err(Unclaimable::Held));
    let again = held.clone().claim(&lease(1), NOW).unwrap();
    assert_eq!(again.delivery(), &held, "nothing is written");
    let later = lease(1).until.plus(MS);
    assert_eq!(held.claim(&lease(2), later).unwrap().version(), 8);
}

#[test]
fn a_row_is_claimed_when_it_is_due() {
    let due_at = NOW.plus(MS);
    let early = Delivery {
        next_retry_at: Some(due_at),
        ..row(Status::Failed)
    };
    let refused = early.clone().claim(&lease(1), NOW);
    assert_eq!(refused, Err(Unclaimable::NotDue(due_at)));
    assert!(early.claim(&lease(1), due_at).is_ok());
    for closed in [Status::Delivered, Status::Dead] {
        let refused = row(closed).claim(&lease(1), NOW);
        assert_eq!(refused, Err(Unclaimable::Closed));
    }
}

#[test]
fn a_row_in_a_backlog_is_claimed_by_a_drainer_only() {
    let waiting = row(Status::Failed).moved_to_backlog();
    assert!(waiting.in_backlog && waiting.version == 7);
    let refused = waiting.clone().claim(&lease(1), NOW);
    assert_eq!(refused, Err(Unclaimable::InBacklog));
    let drained = waiting.claim_from_backlog(&lease(1), NOW).unwrap();
    let again = drained.delivery().clone().claim(&lease(1), NOW);
    assert_eq!(again.as_ref(), Ok(&drained), "its owner lost the answer");
    let closed = Delivery {
        in_backlog: true,
        ..row(Status::Dead)
    };
    assert_eq!(closed.claim(&lease(1), NOW), Err(Unclaimable::Closed));
}

#[test]
fn the_lane_follows_from_how_far_ahead_it_is_due() {
    let lane = |due_at| {
        let row = Delivery {
            next_retry_at: Some(due_at),
            ..row(Status::Failed)
        };
        row.lane(NOW)
    };
    let reach = NOW.plus(MESSAGE_REACH);
    assert_eq!(lane(NOW), Some(Lane::Queued));
    assert_eq!(lane(reach), Some(Lane::Queued));
    assert_eq!(lane(reach.plus(MS)), Some(Lane::Waiting));
    let backlog = row(Status::Failed).moved_to_backlog();
    assert_eq!(backlog.lane(NOW), Some(Lane::Backlog));
    assert_eq!(row(Status::Dead).lane(NOW), None);
}

#[test]
fn a_row_that_was_attempted_is_a_retry() {
    let attempts = |attempts_total| Delivery {
        attempts_total,
        ..row(Status::Pending)
    };
    assert!(!attempts(0).is_retry() && attempts(1).is_retry() && attempts(2).is_retry());
}

#[test]
fn a_claim_fences_by_version_and_owner() {
    let claimed = row(Status::Pending).claim(&lease(1), NOW).unwrap();
    let stored = claimed.delivery().clone();
    assert!(claimed.still_holds(&stored));
    let renewed = Delivery {
        lease_until: NOW,
        ..stored.clone()
    };
    assert!(claimed.still_holds(&renewed), "the end of a lease may move");
    let written_since = Delivery {
        version: stored.version + 1,
        ..stored.clone()
    };
    let of_another = Delivery {
        lease_owner: Some(lease(2).owner),
        ..stored.clone()
    };
    for other in [written_since, of_another, stored.given_back()] {
        assert!(!claimed.still_holds(&other), "{other:?}");
    }
}

#[test]
fn a_row_that_is_given_back_is_free_and_keeps_its_backlog_while_it_is_open() {
    let held = held();
    let back = held.given_back();
    let expected = Delivery {
        version: 8,
        lease_owner: None,
        lease_until: Timestamp::ZERO,
        ..held.clone()
    };
    assert_eq!(back, expected);
    let waiting = held.moved_to_backlog();
    assert!(waiting.given_back().in_backlog);
    assert!(!waiting.webhook_deleted().in_backlog);
}

#[test]
fn a_claim_remembers_when_its_event_expires() {
    let claimed = row(Status::Pending).claim(&lease(1), NOW).unwrap();
    assert_eq!(claimed.event_expires_at(), None);
    let claimed = claimed.with_event_expiring(NOW);
    assert_eq!(claimed.event_expires_at(), Some(NOW));
}

#[test]
fn an_erased_row_says_nothing_about_its_event() {
    for status in Status::ALL {
        let before = row(status);
        assert!(!before.is_erased());
        let after = before.erased();
        let expected = Delivery {
            session_id: None,
            intent: None,
            target_url: "https://receiver.example/hook".to_owned(),
            signature: String::new(),
            error_detail: None,
            version: 7,
            ..if status.is_open() {
                Delivery {
                    status: Status::Dead,
                    dead_cause: Some(DeadCause::Erased),
                    next_retry_at: None,
                    last_status: None,
                    ..before
                }
            } else {
                before
            }
        };
        assert_eq!(after, expected);
        assert!(after.is_erased());
    }
}

#[test]
fn a_row_with_anything_left_is_not_erased() {
    let (erased, whole) = (row(Status::Dead).erased(), row(Status::Dead));
    let with = |change: fn(&mut Delivery, Delivery)| {
        let mut row = erased.clone();
        change(&mut row, whole.clone());
        row.is_erased()
    };
    assert!(with(|_, _| {}));
    assert!(!with(|row, whole| row.session_id = whole.session_id));
    assert!(!with(|row, whole| row.intent = whole.intent));
    assert!(!with(|row, whole| row.target_url = whole.target_url));
    assert!(!with(|row, whole| row.signature = whole.signature));
    assert!(!with(|row, whole| row.error_detail = whole.error_detail));
    assert!(!with(|row, _| row.status = Status::Failed));
}

#[test]
fn an_operator_requeues_what_has_ended_or_failed_and_is_not_in_flight() {
    let asked = |status, force| row(status).requeue(force, NOW);
    for force in [Force::No, Force::Delivered] {
        assert_eq!(asked(Status::Pending, force), Requeue::Pending);
        assert_eq!(asked(Status::Failed, force), Requeue::Allowed);
        assert_eq!(asked(Status::Dead, force), Requeue::Allowed);
        assert_eq!(held().requeue(force, NOW), Requeue::InFlight);
    }
    assert_eq!(asked(Status::Delivered, Force::No), Requeue::Delivered);
    assert_eq!(asked(Status::Delivered, Force::Delivered), Requeue::Allowed);
    // A lease says nothing about a row that is closed.
    let closed = Delivery {
        status: Status::Dead,
        ..held()
    };
    assert_eq!(closed.requeue(Force::No, NOW), Requeue::Allowed);
}
