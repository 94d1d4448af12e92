//! The fields of the gateway's notifications that the command shows.

use std::collections::{HashSet, VecDeque};

use serde::Deserialize;

/// How many notification ids are remembered to detect duplicates.
const REMEMBERED: usize = 4096;

/// One notification: a CloudEvent.
#[derive(Debug, Deserialize)]
pub(crate) struct NotificationView {
    id: String,
    /// Such as `delivery.failed`.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) time: String,
    data: Data,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Data {
    webhook_delivery_id: Option<String>,
    webhook_id: Option<String>,
    session_id: Option<String>,
    event_type: Option<String>,
    attempt_count: Option<u32>,
    status: Option<String>,
    reason: Option<String>,
}

/// A change of a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// What happened: `delivered`, `failed`, `dead` or `requeued`.
    pub(crate) change: String,
    pub(crate) at: String,
    pub(crate) id: String,
    pub(crate) webhook_id: String,
    pub(crate) session_id: Option<String>,
    pub(crate) event_type: String,
    pub(crate) status: String,
    pub(crate) attempt_count: u32,
    /// Why it is dead, in brief.
    pub(crate) reason: Option<String>,
}

impl NotificationView {
    /// The change of a delivery, if the notification is about one.
    pub(crate) fn change(self) -> Option<Change> {
        let change = self.kind.strip_prefix("delivery.")?.to_owned();
        Some(Change {
            change,
            at: self.time,
            id: self.data.webhook_delivery_id?,
            webhook_id: self.data.webhook_id?,
            session_id: self.data.session_id,
            event_type: self.data.event_type.unwrap_or_default(),
            status: self.data.status?,
            attempt_count: self.data.attempt_count.unwrap_or(0),
            reason: self.data.reason,
        })
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

    fn notification(n: usize) -> NotificationView {
        NotificationView {
            id: format!("dlv_1/{n}/delivery.dead"),
            kind: "delivery.dead".to_owned(),
            time: "2026-02-21T10:00:00.000Z".to_owned(),
            data: Data::default(),
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
        let of_webhook = r#"{"id":"a","type":"webhook.failed","time":"t","data":{"webhook_id":"wh_1","status":"failed"}}"#;
        let notification: NotificationView = serde_json::from_str(of_webhook).unwrap();
        assert_eq!(notification.change(), None);
        let of_delivery = r#"{"id":"b","type":"delivery.requeued","time":"t","data":{"webhook_delivery_id":"dlv_1",
            "webhook_id":"wh_1","session_id":null,"event_type":"a.b","attempt_count":0,"status":"pending"}}"#;
        let notification: NotificationView = serde_json::from_str(of_delivery).unwrap();
        let change = notification.change().unwrap();
        assert_eq!(
            (change.change.as_str(), change.id.as_str()),
            ("requeued", "dlv_1")
        );
    }
}
