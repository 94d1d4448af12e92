use serde_json::json;

use super::*;
use crate::health::{Health, StatusReason, WARNING_AT, WebhookStatus};
use crate::ids::EventId;
use crate::notification::health_notification;

const AT: Timestamp = Timestamp::from_millis(1_771_668_000_123);

fn webhook() -> WebhookId {
    WebhookId::from_bytes([7; 16])
}

fn failure() -> LastFailure {
    let delivery = DeliveryId {
        event: EventId::from_bytes([1; 16]),
        webhook: webhook(),
    };
    LastFailure {
        delivery,
        event_type: EventType::try_from("task.completed".to_owned()).unwrap(),
        error: "HTTP status 500".to_owned(),
        at: AT,
    }
}

/// The alert for the notification of this status change.
fn alert_for(before: &Health, after: &Health) -> Option<Alert> {
    let tenant = TenantId::default();
    let notification = health_notification(&tenant, webhook(), before, after, AT).unwrap();
    Alert::read(&notification.to_cloud_event().to_string()).unwrap()
}

fn alert(cause: AlertCause) -> Alert {
    Alert {
        id: String::new(),
        tenant: TenantId::default(),
        webhook: webhook(),
        cause,
        generation: 4,
        at: AT,
        reason: None,
        last_failure: None,
    }
}

/// Both are stored with each e-mail that was sent.
#[test]
fn causes_have_names_and_only_warnings_can_be_of_the_future() {
    let failed = alert(AlertCause::Failed { retries: None });
    let degraded = alert(AlertCause::Degraded { failures: 3 });
    assert_eq!(failed.cause.as_str(), "failed");
    assert_eq!(degraded.cause.as_str(), "degraded");
    assert_eq!(failed.latest_episode(AT), i64::MAX);
    let latest = AT.plus(CLOCKS_APART).as_millis();
    assert_eq!(degraded.latest_episode(AT), latest);
}

#[test]
fn a_failure_is_read_as_it_was_written() {
    let before = Health {
        generation: 4,
        last_failure: Some(failure()),
        ..Health::default()
    };
    let reason = StatusReason::Exhausted {
        retries: 5,
        error: "HTTP status 500".to_owned(),
    };
    let after = before.stopped(WebhookStatus::Failed, 4, reason.clone(), AT);
    let alert = alert_for(&before, &after).unwrap();
    let cause = AlertCause::Failed { retries: Some(5) };
    assert_eq!((alert.cause, alert.generation), (cause, 4));
    assert_eq!((alert.webhook, alert.at), (webhook(), AT));
    assert_eq!(alert.reason, Some(reason.to_string()));
    assert_eq!(alert.last_failure, Some(failure()));
}

#[test]
fn a_warning_is_read_as_it_was_written() {
    let before = Health {
        failure_count: WARNING_AT - 1,
        ..Health::default()
    };
    let alert = alert_for(&before, &before.failed_once(failure())).unwrap();
    let failures = WARNING_AT;
    assert_eq!(alert.cause, AlertCause::Degraded { failures });
    assert_eq!(alert.last_failure, Some(failure()));
}

#[test]
fn other_notifications_and_repeated_failures_raise_no_alert() {
    let paused = Health::default().set(WebhookStatus::Paused, AT);
    let resumed = paused.set(WebhookStatus::Active, AT);
    assert_eq!(alert_for(&paused, &resumed), None);
    let again = json!({"id": "x", "type": "webhook.failed", "tenant": "default",
        "data": {"webhook_id": webhook(), "again": true}});
    assert_eq!(Alert::of(again), Ok(None));
}

#[test]
fn notifications_of_earlier_releases_can_be_read() {
    let earlier = json!({"id": "x", "type": "webhook.failed", "tenant": "default",
        "data": {"webhook_id": webhook(), "status": "failed", "reason": "HTTP status 500"}});
    let alert = Alert::of(earlier).unwrap().unwrap();
    assert_eq!(alert.reason.as_deref(), Some("HTTP status 500"));
    assert_eq!(alert.last_failure, None);
}

#[test]
fn text_that_is_not_a_notification_is_an_error() {
    for text in ["", "hello", "{}", r#"{"id":"x","type":"webhook.failed"}"#] {
        assert!(Alert::read(text).is_err(), "{text}");
    }
    let bad = json!({"id": "x", "type": "webhook.failed", "tenant": "default",
        "time": "yesterday", "data": {"webhook_id": webhook()}});
    assert_eq!(Alert::of(bad), Err(Unreadable("invalid time")));
}

#[test]
fn a_failure_is_mailed_once_until_an_operator_acts_and_a_warning_once_an_hour() {
    let alert = |cause, generation, at| Alert {
        id: "x".to_owned(),
        tenant: TenantId::default(),
        webhook: webhook(),
        cause,
        generation,
        at,
        reason: None,
        last_failure: None,
    };
    let silences = |first: &Alert, second: &Alert| first.episode() > second.silenced_after();
    let failed = |generation, at| alert(AlertCause::Failed { retries: None }, generation, at);
    let later = AT.plus(Millis::from_seconds(86_400));
    assert!(silences(&failed(1, AT), &failed(1, later)));
    assert!(!silences(&failed(1, AT), &failed(2, AT)));
    let warning = |at| alert(AlertCause::Degraded { failures: 3 }, 0, at);
    let (soon, late) = (
        AT.plus(WARNINGS_APART).minus(Millis::new(1)),
        AT.plus(WARNINGS_APART),
    );
    assert!(silences(&warning(AT), &warning(soon)));
    assert!(!silences(&warning(AT), &warning(late)));
}
