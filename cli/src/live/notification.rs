//! Changes to deliveries, from the gateway's notifications.

use std::collections::{HashSet, VecDeque};

use postrider_api_types::notification::NotificationView;
use postrider_api_types::{ApiTime, Word};
use postrider_domain::delivery::Status;
use postrider_domain::notification::NotificationKind;

/// How many notification ids are remembered to detect duplicates.
const REMEMBERED: usize = 4096;
/// How the kinds of a delivery's notifications start.
const PREFIX: &str = "delivery.";

/// A change to a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) kind: Word<NotificationKind>,
    pub(crate) at: ApiTime,
    pub(crate) id: String,
    pub(crate) webhook_id: String,
    pub(crate) session_id: Option<String>,
    pub(crate) event_type: String,
    pub(crate) status: Word<Status>,
    pub(crate) attempt_count: u32,
    /// Why it is dead, in brief.
    pub(crate) reason: Option<String>,
}

impl Change {
    /// The change to a delivery, if the notification is about one.
    pub(crate) fn of(notification: NotificationView) -> Option<Self> {
        let NotificationView {
            kind, time, data, ..
        } = notification;
        kind.as_str().strip_prefix(PREFIX)?;
        Some(Self {
            kind,
            at: time,
            id: data.webhook_delivery_id?,
            webhook_id: data.webhook_id?,
            session_id: data.session_id,
            event_type: data.event_type.unwrap_or_default(),
            status: Word::read(&data.status?),
            attempt_count: data.attempt_count.unwrap_or(0),
            reason: data.reason,
        })
    }

    /// What happened, such as `delivered` or `requeued`.
    pub(crate) fn name(&self) -> &str {
        let kind = self.kind.as_str();
        kind.strip_prefix(PREFIX).unwrap_or(kind)
    }
}

/// The ids of recent notifications. Notifications are sent at least once and shown once.
#[derive(Debug, Default)]
pub(super) struct Known {
    ids: HashSet<String>,
    order: VecDeque<String>,
}

impl Known {
    pub(super) fn is_new(&mut self, notification: &NotificationView) -> bool {
        if !self.ids.insert(notification.id.clone()) {
            return false;
        }
        self.order.push_back(notification.id.clone());
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.ids.remove(&oldest);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use postrider_api_types::notification::NotificationData;
    use postrider_domain::time::Timestamp;

    fn notification(n: usize) -> NotificationView {
        NotificationView {
            id: format!("dlv_1/{n}/delivery.dead"),
            kind: NotificationKind::DeliveryDead.into(),
            time: ApiTime(Timestamp::from_millis(1_771_668_000_000)),
            data: NotificationData::default(),
        }
    }

    #[test]
    fn a_notification_is_new_once_and_memory_is_bounded() {
        let mut known = Known::default();
        assert!(known.is_new(&notification(0)) && !known.is_new(&notification(0)));
        for n in 1..=REMEMBERED {
            assert!(known.is_new(&notification(n)));
        }
        assert_eq!(
            (known.ids.len(), known.order.len()),
            (REMEMBERED, REMEMBERED)
        );
        assert!(known.is_new(&notification(0)), "no longer remembered");
    }

    #[test]
    fn only_deliveries_have_changes() {
        let of_webhook = r#"{"id":"a","type":"webhook.failed","time":"2026-02-21T10:00:00Z","data":{"webhook_id":"wh_1","status":"failed"}}"#;
        let notification: NotificationView = serde_json::from_str(of_webhook).unwrap();
        assert_eq!(Change::of(notification), None);
        let of_delivery = r#"{"id":"b","type":"delivery.requeued","time":"2026-02-21T10:00:00Z","data":{"webhook_delivery_id":"dlv_1",
            "webhook_id":"wh_1","session_id":null,"event_type":"a.b","attempt_count":0,"status":"pending"}}"#;
        let notification: NotificationView = serde_json::from_str(of_delivery).unwrap();
        let change = Change::of(notification).unwrap();
        assert_eq!((change.name(), change.id.as_str()), ("requeued", "dlv_1"));
    }
}
