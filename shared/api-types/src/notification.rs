//! Notifications of the gateway, as `/v1/stream` sends them.

use postrider_domain::notification::NotificationKind;
use serde::{Deserialize, Serialize};

use crate::time::ApiTime;
use crate::word::Word;

/// One notification: a CloudEvent, with the fields that clients in this repository read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotificationView {
    /// The same for every copy: notifications are sent at least once.
    pub id: String,
    #[serde(rename = "type")]
    pub kind: Word<NotificationKind>,
    pub time: ApiTime,
    pub data: NotificationData,
}

/// The data of a notification. Which fields are present depends on its kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NotificationData {
    pub webhook_delivery_id: Option<String>,
    pub webhook_id: Option<String>,
    pub session_id: Option<String>,
    pub event_type: Option<String>,
    pub attempt_count: Option<u32>,
    /// The status of the delivery or of the webhook.
    pub status: Option<String>,
    pub reason: Option<String>,
}

/// Which webhook and delivery a notification is about, as JSON, without anything else that it says; `None` if it is about
/// neither.
#[must_use]
pub fn changed_ids(notification: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Said {
        data: Ids,
    }
    #[derive(Serialize, Deserialize)]
    struct Ids {
        webhook_id: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        webhook_delivery_id: Option<String>,
    }
    let Said { data } = serde_json::from_str(notification).ok()?;
    serde_json::to_string(&data).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use postrider_domain::ids::TenantId;
    use postrider_domain::notification::Notification;
    use postrider_domain::time::Timestamp;

    #[test]
    fn what_the_gateway_sends_is_read() {
        let sent = Notification {
            id: "a".to_owned(),
            kind: NotificationKind::DeliveryDead,
            tenant: TenantId::default(),
            at: Timestamp::from_millis(1_771_668_000_000),
            data: serde_json::json!({"webhook_id": "wh_1", "status": "dead", "name": "WebhookDLQEvent"}),
        };
        let read: NotificationView = serde_json::from_value(sent.to_cloud_event()).unwrap();
        assert_eq!(read.kind, NotificationKind::DeliveryDead);
        assert_eq!(read.time, ApiTime(sent.at));
        assert_eq!(read.data.status.as_deref(), Some("dead"));
    }
}
