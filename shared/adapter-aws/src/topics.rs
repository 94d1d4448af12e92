//! Several topics as one.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::join_all;
use postrider_domain::notification::Notification;
use postrider_ports::Result;
use postrider_ports::notifications::Topic;

/// A notification is published once every topic has accepted it. If one fails, the caller publishes it to all of them again.
pub struct Topics(Vec<Arc<dyn Topic>>);

impl Topics {
    #[must_use]
    pub fn new(topics: impl Into<Vec<Arc<dyn Topic>>>) -> Self {
        Self(topics.into())
    }
}

#[async_trait]
impl Topic for Topics {
    async fn publish(&self, notifications: &[Notification]) -> Vec<Result<()>> {
        let each = self.0.iter().map(|topic| topic.publish(notifications));
        let mut results = vec![Ok(()); notifications.len()];
        for of_topic in join_all(each).await {
            for (result, of_topic) in results.iter_mut().zip(of_topic) {
                if result.is_ok() {
                    *result = of_topic;
                }
            }
        }
        results
    }
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;
    use postrider_domain::notification::NotificationKind;
    use postrider_domain::time::Timestamp;
    use postrider_ports::Error;
    use serde_json::json;

    use super::*;

    /// Rejects the notification with this id.
    struct Rejecting(&'static str, Mutex<Vec<String>>);

    #[async_trait]
    impl Topic for Rejecting {
        async fn publish(&self, notifications: &[Notification]) -> Vec<Result<()>> {
            let publish = |notification: &Notification| {
                self.1.lock().push(notification.id.clone());
                if notification.id == self.0 {
                    return Err(Error::Unavailable(self.0.to_owned()));
                }
                Ok(())
            };
            notifications.iter().map(publish).collect()
        }
    }

    #[tokio::test]
    async fn a_notification_that_one_topic_rejects_is_not_published() {
        let [first, second] = ["a", "c"].map(|id| Arc::new(Rejecting(id, Mutex::default())));
        let both: [Arc<dyn Topic>; 2] = [first.clone(), second.clone()];
        let topics = Topics::new(both);
        let notifications = ["a", "b", "c"].map(|id| Notification {
            id: id.to_owned(),
            kind: NotificationKind::DeliveryDead,
            tenant: "acme".parse().unwrap(),
            at: Timestamp::ZERO,
            data: json!({}),
        });
        let results = topics.publish(&notifications).await;
        let failed = |id: &str| Err(Error::Unavailable(id.to_owned()));
        assert_eq!(results, [failed("a"), Ok(()), failed("c")]);
        for topic in [first, second] {
            assert_eq!(*topic.1.lock(), ["a", "b", "c"]);
        }
    }
}
