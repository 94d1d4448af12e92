use std::collections::BTreeSet;

use super::*;
use crate::delivery::tests::{NOW, row};

/// The row of [`row`] after one more attempt.
fn attempted(status: Status) -> Delivery {
    Delivery {
        attempt_count: 2,
        attempts_total: 2,
        ..row(status)
    }
}

fn dead(cause: DeadCause) -> Delivery {
    Delivery {
        dead_cause: Some(cause),
        ..attempted(Status::Dead)
    }
}

/// The notification about a change of a delivery.
fn sent(before: &Delivery, after: &Delivery) -> Option<NotificationKind> {
    let found = effects(before, after, &Health::default(), NOW).notifications;
    assert!(found.len() <= 1);
    found.first().map(|notification| notification.kind)
}

/// The webhook's state after an attempt led to the row `after`, if it changed.
fn health_after(after: &Delivery, health: &Health) -> Option<Health> {
    consequences(&row(Status::Failed), after, health, NOW).health
}

fn failing(failure_count: u32) -> Health {
    Health {
        failure_count,
        ..Health::default()
    }
}

#[test]
fn each_type_is_read_back() {
    for kind in NotificationKind::ALL {
        let name = serde_json::to_value(kind).unwrap();
        assert_eq!(name, kind.as_str());
        assert_eq!(serde_json::from_value(name).ok(), Some(kind));
    }
    assert!(serde_json::from_value::<NotificationKind>("delivery".into()).is_err());
}

#[test]
fn a_notification_follows_when_a_delivery_is_attempted_dies_or_is_requeued() {
    use NotificationKind::{DeliveryDead, DeliveryDelivered, DeliveryFailed, DeliveryRequeued};
    use Status::{Dead, Delivered, Failed, Pending};
    for (before, after, expected) in [
        (row(Pending), attempted(Delivered), Some(DeliveryDelivered)),
        (row(Failed), attempted(Failed), Some(DeliveryFailed)),
        (row(Failed), attempted(Dead), Some(DeliveryDead)),
        (row(Pending), row(Pending).expired(), Some(DeliveryDead)),
        (row(Pending), row(Pending).given_back(), None),
        (row(Failed), row(Failed).moved_to_backlog(), None),
        (row(Delivered), row(Delivered).erased(), None),
        (row(Dead), row(Dead).erased(), None),
    ] {
        assert_eq!(sent(&before, &after), expected, "{before:?} {after:?}");
    }
    for status in [Failed, Delivered, Dead] {
        let requeued = row(status).requeued(NOW);
        assert_eq!(sent(&row(status), &requeued), Some(DeliveryRequeued));
    }
}

#[test]
fn the_notification_of_a_dead_delivery_says_why() {
    let reason = |cause| {
        let kind = NotificationKind::DeliveryDead;
        let notification = Notification::of_delivery(kind, &dead(cause), NOW);
        notification.data["reason"].as_str().unwrap().to_owned()
    };
    for cause in [DeadCause::Exhausted, DeadCause::ExhaustedFailingWebhook] {
        assert_eq!(reason(cause), "attempts exhausted");
    }
    let different = BTreeSet::from(DeadCause::ALL.map(reason));
    assert_eq!(different.len(), DeadCause::ALL.len() - 1);
}

#[test]
fn a_failure_extends_a_run_of_failures_and_a_success_ends_it() {
    let [failed, delivered] = [Status::Failed, Status::Delivered].map(attempted);
    for count in [0, 1, 7] {
        let health = failing(count);
        let after = health_after(&failed, &health).unwrap();
        assert_eq!(after, health.failed_once(LastFailure::of(&failed, NOW)));
        assert_eq!(after.failure_count, count + 1);
    }
    assert_eq!(health_after(&delivered, &failing(7)), Some(failing(0)));
    assert_eq!(health_after(&delivered, &failing(0)), None, "no change");
    let expired = row(Status::Failed).expired();
    assert_eq!(health_after(&expired, &failing(7)), None, "no attempt");
}

#[test]
fn an_attempt_says_nothing_about_its_webhook_if_it_is_outdated_or_sent_nothing() {
    let unrendered = dead(DeadCause::Unrendered);
    assert_eq!(health_after(&unrendered, &failing(7)), None);
    let since_resumed = Health {
        generation: 1,
        ..failing(7)
    };
    let causes = DeadCause::ALL.map(dead);
    let others = [Status::Failed, Status::Delivered].map(attempted);
    for after in causes.iter().chain(&others) {
        assert_eq!(health_after(after, &since_resumed), None, "{after:?}");
    }
}

#[test]
fn a_dead_delivery_stops_its_webhook_if_the_policy_or_the_receiver_says_so() {
    use WebhookStatus::{Active, Disabled, Failed};
    let error = "HTTP status 500".to_owned();
    let exhausted = StatusReason::Exhausted { retries: 1, error };
    for cause in DeadCause::ALL {
        let expected = if cause == DeadCause::ExhaustedFailingWebhook {
            (Failed, Some(exhausted.clone()))
        } else if cause == DeadCause::Gone {
            (Disabled, Some(StatusReason::Gone))
        } else if cause == DeadCause::Declined {
            (Disabled, Some(StatusReason::Declined))
        } else {
            (Active, None)
        };
        let after = health_after(&dead(cause), &Health::default()).unwrap_or_default();
        assert_eq!((after.status, after.reason), expected, "{cause:?}");
    }
}

#[test]
fn a_resumed_webhook_fails_again_when_all_its_probes_have_failed() {
    use WebhookStatus::{Active, Disabled, Failed};
    let (failed, gone) = (attempted(Status::Failed), dead(DeadCause::Gone));
    for (on_probation, failures_before, after, expected) in [
        (true, 0, &failed, Active),
        (true, PROBES - 2, &failed, Active),
        (true, PROBES - 1, &failed, Failed),
        (true, PROBES - 1, &dead(DeadCause::Exhausted), Failed),
        (true, PROBES - 1, &gone, Disabled),
        (true, PROBES, &failed, Failed),
        (false, PROBES - 1, &failed, Active),
        (false, PROBES, &failed, Active),
    ] {
        let before = Health {
            on_probation,
            ..failing(failures_before)
        };
        let after = health_after(after, &before).unwrap();
        assert_eq!(after.status, expected, "{before:?}");
        let error = "HTTP status 500".to_owned();
        let again = StatusReason::FailedAfterResume { error };
        assert_eq!(after.reason == Some(again), expected == Failed);
    }
}

/// The notification about a change of the webhook from one state to another.
fn told(before: &Health, after: &Health) -> Option<NotificationKind> {
    let webhook = row(Status::Failed).id.webhook;
    let told = health_notification(&TenantId::default(), webhook, before, after, NOW);
    told.map(|notification| notification.kind)
}

#[test]
fn each_change_of_a_webhooks_status_sends_the_notification_of_the_new_one() {
    let of = |status| Health {
        status,
        ..Health::default()
    };
    for (after, kind) in [
        (WebhookStatus::Active, NotificationKind::WebhookResumed),
        (WebhookStatus::Failed, NotificationKind::WebhookFailed),
        (WebhookStatus::Paused, NotificationKind::WebhookPaused),
        (WebhookStatus::Disabled, NotificationKind::WebhookDisabled),
    ] {
        for before in WebhookStatus::ALL {
            let expected = (before != after).then_some(kind);
            assert_eq!(told(&of(before), &of(after)), expected, "{before:?}");
        }
    }
}

#[test]
fn an_active_webhook_degrades_once_per_run_of_failures() {
    for (before, after, expected) in [
        (0, WARNING_AT - 1, false),
        (WARNING_AT - 1, WARNING_AT - 1, false),
        (WARNING_AT - 1, WARNING_AT, true),
        (0, WARNING_AT + 1, true),
        (WARNING_AT, WARNING_AT + 1, false),
        (WARNING_AT, 0, false),
    ] {
        let degraded = expected.then_some(NotificationKind::WebhookDegraded);
        let found = told(&failing(before), &failing(after));
        assert_eq!(found, degraded, "{before} to {after} failures");
        let paused = |failure_count| Health {
            status: WebhookStatus::Paused,
            ..failing(failure_count)
        };
        assert_eq!(told(&paused(before), &paused(after)), None);
    }
}
