//! How the API's documents are displayed.

use std::collections::HashMap;

use postrider_api_types::Word;
use postrider_api_types::delivery::DeliveryView;
use postrider_api_types::source::SourceView;
use postrider_api_types::webhook::WebhookView;
use postrider_domain::delivery::Status;
use postrider_domain::flow::WaitingFor;
use postrider_domain::health::WebhookStatus;
use postrider_domain::time::Timestamp;
use url::Url;

use crate::client::Client;
use crate::pages;
use crate::table::Mark;
use crate::when::{short_time, until};

pub(crate) fn delivery_mark(status: &Word<Status>) -> Mark {
    match status {
        Word::Known(Status::Delivered) => Mark::Good,
        Word::Known(Status::Failed) => Mark::Retrying,
        Word::Known(Status::Dead) => Mark::Bad,
        Word::Known(Status::Pending) | Word::Unknown(_) => Mark::Waiting,
    }
}

pub(crate) trait ShowDelivery {
    fn mark(&self) -> Mark;

    /// `2 of 5`.
    fn tries(&self) -> String;

    /// When an open delivery is attempted next, or what it waits for.
    fn next(&self, now: Timestamp) -> Option<String>;
}

impl ShowDelivery for DeliveryView {
    fn mark(&self) -> Mark {
        delivery_mark(&self.status)
    }

    fn tries(&self) -> String {
        format!("{} of {}", self.attempt_count, self.max_attempts)
    }

    fn next(&self, now: Timestamp) -> Option<String> {
        if self.is_settled() {
            return None;
        }
        match self.waiting_for.as_ref().and_then(Word::known) {
            Some(WaitingFor::WebhookResume) => {
                Some(format!("on hold until {} is resumed", self.webhook_id))
            }
            Some(WaitingFor::RateLimit) => Some("waiting for the rate limit".to_owned()),
            Some(WaitingFor::RetryTime) | None => self.next_retry_at.map(|at| until(at, now)),
        }
    }
}

pub(crate) trait ShowWebhook {
    fn mark(&self) -> Mark;

    /// The status and the reason for it.
    fn state(&self) -> String;

    /// `limited to 1.5/s`, while first attempts, too, keep to a rate.
    fn limit(&self) -> Option<String>;

    /// `12 deliveries, empty at 2026-02-21 10:00:05`; `None` if nothing waits or it was not counted.
    fn backlog(&self) -> Option<String>;
}

impl ShowWebhook for WebhookView {
    fn mark(&self) -> Mark {
        match self.status {
            Word::Known(WebhookStatus::Active) if self.failure_count == 0 => Mark::Good,
            Word::Known(WebhookStatus::Active) => Mark::Retrying,
            Word::Known(WebhookStatus::Paused) => Mark::Waiting,
            Word::Known(WebhookStatus::Failed | WebhookStatus::Disabled) | Word::Unknown(_) => {
                Mark::Bad
            }
        }
    }

    fn state(&self) -> String {
        match (self.status.known(), self.failure_count) {
            (Some(WebhookStatus::Active), 1) => {
                "active, degraded: the last attempt failed".to_owned()
            }
            (Some(WebhookStatus::Active), n) if n > 1 => {
                format!("active, degraded: the last {n} attempts failed")
            }
            _ => self.status.to_string(),
        }
    }

    fn limit(&self) -> Option<String> {
        self.limited
            .then(|| format!("limited to {}/s", self.current_rate))
    }

    fn backlog(&self) -> Option<String> {
        let backlog = self.backlog.as_ref().filter(|backlog| backlog.size > 0)?;
        let (more, earliest) = if backlog.counted {
            ("", "")
        } else {
            ("more than ", " at the earliest")
        };
        let size = match backlog.size {
            1 => "1 delivery".to_owned(),
            size => format!("{more}{size} deliveries"),
        };
        Some(match backlog.empty_at {
            Some(at) => format!("{size}, empty at {}{earliest}", short_time(at)),
            None if self.status.known() == Some(WebhookStatus::Active) => size,
            None => format!("{size}, until the webhook is resumed"),
        })
    }
}

pub(crate) trait ShowSource {
    /// Where its sender posts to, at the gateway with this base URL.
    fn address(&self, base: &Url) -> String;
}

impl ShowSource for SourceView {
    fn address(&self, base: &Url) -> String {
        address(base, &self.url)
    }
}

/// A path appended to a base URL, which may have a path of its own, such as a stage.
pub(crate) fn address(base: &Url, path: &str) -> String {
    format!("{}{path}", base.as_str().trim_end_matches('/'))
}

/// The names of webhooks by id. Empty for a key that may not read them; ids are shown then.
#[derive(Debug, Default)]
pub(crate) struct WebhookNames(HashMap<String, String>);

impl WebhookNames {
    pub(crate) async fn read(client: &Client) -> Self {
        let webhooks = match pages::all(client, &["v1", "webhooks"]).await {
            Ok(listing) => listing.read::<WebhookView>().unwrap_or_default(),
            Err(_) => Vec::new(),
        };
        let names = webhooks.into_iter();
        Self(names.map(|webhook| (webhook.id, webhook.name)).collect())
    }

    /// The name, or the id if the webhook is unknown or deleted.
    pub(crate) fn of<'a>(&'a self, id: &'a str) -> &'a str {
        self.0.get(id).map_or(id, String::as_str)
    }
}

#[cfg(test)]
pub(crate) mod examples {
    //! Complete documents, for tests that change some fields.

    use serde_json::{Value, json};

    use super::*;

    pub(crate) fn delivery() -> DeliveryView {
        serde_json::from_value(json!({
            "id": "dlv_1", "event_id": "evt_1", "event_type": "task.completed", "webhook_id": "wh_1",
            "session_id": null, "target_url": "https://example.com/", "signature": "", "status": "dead",
            "attempt_count": 5, "max_attempts": 5, "last_attempted_at": null, "next_retry_at": null,
            "created_at": "2026-02-21T10:00:00Z", "error_detail": "HTTP status 500", "dead_cause": "exhausted",
        }))
        .unwrap()
    }

    pub(crate) fn webhook() -> Value {
        json!({
            "id": "wh_1", "name": "billing", "target_url": "https://example.com/", "event_types": ["*"],
            "owner_email": null, "headers": {}, "timeout_seconds": 10, "retry_rate": 5, "max_rate": null, "max_in_flight": null, "backlog": null, "current_rate": 5.0,
            "auto_resume": false, "status": "active", "failure_count": 0, "degraded": false, "status_reason": null,
            "status_changed_at": null, "next_test_at": null, "last_failure": null, "secret_expires": [],
            "created_at": "2026-02-21T10:00:00Z", "updated_at": "2026-02-21T10:00:00Z",
            "retry": {"profile": "gateway", "max_attempts": 5, "jitter_bps": 0,
                "delays_seconds": [30, 120, 600, 3600, 21600], "max_backoff_seconds": 86400,
                "classifier": "every-failure", "redirects": "delivered", "retry_after": "ignore", "retry_ramp": "off", "on_exhausted": "dead-letter"},
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use postrider_api_types::ApiTime;

    #[test]
    fn a_status_of_a_newer_gateway_is_shown() {
        let mut document = examples::webhook();
        document["status"] = "resting".into();
        document["a_new_field"] = 1.into();
        let webhook: WebhookView = serde_json::from_value(document).unwrap();
        assert_eq!(webhook.state(), "resting");
        assert_eq!(webhook.mark(), Mark::Bad);
    }

    #[test]
    fn an_open_delivery_says_what_it_waits_for() {
        let now = Timestamp::parse_rfc3339("2026-02-21T10:00:00Z").unwrap();
        let mut delivery = examples::delivery();
        assert_eq!(delivery.next(now), None, "it is dead");
        delivery.status = Status::Pending.into();
        delivery.next_retry_at = Some(ApiTime(now));
        for (reason, shown) in [
            (None, "now"),
            (
                Some(WaitingFor::WebhookResume),
                "on hold until wh_1 is resumed",
            ),
            (Some(WaitingFor::RateLimit), "waiting for the rate limit"),
        ] {
            delivery.waiting_for = reason.map(Word::from);
            assert_eq!(delivery.next(now).as_deref(), Some(shown));
        }
        delivery.waiting_for = Some(Word::read("a_newer_reason"));
        assert_eq!(delivery.next(now).as_deref(), Some("now"));
    }

    #[test]
    fn the_address_includes_the_path_of_a_stage() {
        let path = "/gateway/webhooks/src_1";
        for (base, expected) in [
            ("http://h:1", "http://h:1/gateway/webhooks/src_1"),
            ("https://h/prod/", "https://h/prod/gateway/webhooks/src_1"),
        ] {
            assert_eq!(address(&base.parse().unwrap(), path), expected);
        }
    }
}
