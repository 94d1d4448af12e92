//! Which webhooks an event goes to.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::{Event, Label, Origin};
use crate::health::WebhookStatus;
use crate::ids::WebhookId;
use crate::invalid::Invalid;
use crate::pattern::{EventType, Pattern};
use crate::payload_filter::{Payload, PayloadFilter};
use crate::webhook::Webhook;

/// Why an event cannot be sent to the webhook it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unroutable {
    #[error("no webhook has this id")]
    Unknown,
    #[error("this webhook is disabled")]
    Disabled,
}

/// The webhooks that an event goes to: the one it names, whatever its subscriptions, or all that subscribe to its type. In both
/// cases the webhook's filter must match, except for a test event, which an operator sends to see whether the receiver answers.
pub fn plan<'a>(
    event: &Event,
    payload: &Payload,
    named: Option<WebhookId>,
    webhooks: &'a [Webhook],
) -> Result<Vec<&'a Webhook>, Unroutable> {
    let admits = |webhook: &&Webhook| event.origin == Origin::Test || webhook.admits(payload);
    let Some(named) = named else {
        return Ok(webhooks
            .iter()
            .filter(|webhook| webhook.wants(&event.event_type))
            .filter(admits)
            .collect());
    };
    let webhook = webhooks
        .iter()
        .find(|webhook| webhook.id == named)
        .ok_or(Unroutable::Unknown)?;
    match webhook.health.status {
        WebhookStatus::Disabled => Err(Unroutable::Disabled),
        WebhookStatus::Active | WebhookStatus::Failed | WebhookStatus::Paused => {
            Ok(Some(webhook).filter(admits).into_iter().collect())
        }
    }
}

/// Where a source's events of some types go, and what the receiver should do with them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    pub event_type: Pattern,
    /// Which payloads take it; all of them without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<PayloadFilter>,
    /// What the receiver should do with the events.
    pub intent: Label,
    pub target_session: Option<Label>,
    /// Gets the events whatever it subscribes to.
    pub webhook_id: WebhookId,
}

/// A route as submitted, unchecked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteDraft {
    pub event_type: String,
    /// An event pattern over the payload.
    pub filter: Option<Value>,
    pub intent: String,
    pub target_session: Option<String>,
    pub webhook_id: String,
}

impl RouteDraft {
    /// # Errors
    /// All errors at once, with their fields below `path`.
    pub(crate) fn check(
        self,
        path: &str,
        exists: impl Fn(WebhookId) -> bool,
    ) -> Result<Route, Invalid> {
        let mut errors = Invalid::default();
        let at = |field: &str| format!("{path}.{field}");
        let event_type = errors.take(&at("event_type"), Pattern::try_from(self.event_type));
        let filter = self.filter.and_then(|source| {
            let compiled = PayloadFilter::compile(&at("filter"), source);
            compiled.map_err(|found| errors.extend(found)).ok()
        });
        let intent = errors.take(&at("intent"), Label::try_from(self.intent));
        let target_session = self
            .target_session
            .map(|text| errors.take(&at("target_session"), Label::try_from(text)));
        let webhook_id: Option<WebhookId> = errors.take(&at("webhook_id"), self.webhook_id.parse());
        errors.require(webhook_id.is_none_or(exists), &at("webhook_id"), || {
            Unroutable::Unknown.to_string()
        });
        let (Some(event_type), Some(intent), Some(webhook_id)) = (event_type, intent, webhook_id)
        else {
            return Err(errors);
        };
        errors.into_result()?;
        Ok(Route {
            event_type,
            filter,
            intent,
            target_session: target_session.flatten(),
            webhook_id,
        })
    }
}

impl Route {
    fn takes(&self, event_type: &EventType, payload: &Payload) -> bool {
        let filter = self.filter.as_ref();
        self.event_type.matches(event_type) && filter.is_none_or(|filter| filter.matches(payload))
    }
}

impl From<&Route> for RouteDraft {
    fn from(route: &Route) -> Self {
        Self {
            event_type: route.event_type.to_string(),
            filter: route.filter.clone().map(Value::from),
            intent: route.intent.as_str().to_owned(),
            target_session: route.target_session.clone().map(String::from),
            webhook_id: route.webhook_id.to_string(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Routed<'a> {
    pub webhook: &'a Webhook,
    /// The source's first matching route to this webhook.
    pub route: &'a Route,
}

/// The webhooks that a source's event goes to, in the order of the routes, each once. Deleted and disabled webhooks are
/// skipped: the sender cannot do anything about them. So are webhooks whose own filter does not match.
#[must_use]
pub fn follow<'a>(
    routes: &'a [Route],
    event_type: &EventType,
    payload: &Payload,
    webhooks: &'a [Webhook],
) -> Vec<Routed<'a>> {
    let mut planned: Vec<Routed<'a>> = Vec::new();
    for route in routes {
        let is_new = planned
            .iter()
            .all(|other| other.route.webhook_id != route.webhook_id);
        if !is_new || !route.takes(event_type, payload) {
            continue;
        }
        let webhook = webhooks.iter().find(|webhook| {
            webhook.id == route.webhook_id
                && webhook.health.status != WebhookStatus::Disabled
                && webhook.admits(payload)
        });
        planned.extend(webhook.map(|webhook| Routed { webhook, route }));
    }
    planned
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use serde_json::json;

    use super::*;
    use crate::egress::Rules;
    use crate::health::Health;
    use crate::ids::{EventId, TenantId};
    use crate::secret::{SecretRing, SigningSecret};
    use crate::time::Timestamp;
    use crate::webhook::WebhookDraft;

    fn id(n: u8) -> WebhookId {
        WebhookId::from_bytes([n; 16])
    }

    fn webhook(n: u8, status: WebhookStatus) -> Webhook {
        let draft = WebhookDraft {
            name: "w".to_owned(),
            target_url: "https://receiver.example/".to_owned(),
            event_types: vec!["nothing.of.this".to_owned()],
            ..WebhookDraft::default()
        };
        Webhook {
            id: id(n),
            tenant: TenantId::default(),
            settings: draft.check(&Rules::default()).unwrap(),
            secrets: SecretRing::new(SigningSecret::from_key(&[1; 32])),
            created_at: Timestamp::ZERO,
            updated_at: Timestamp::ZERO,
            health: Health {
                status,
                ..Health::default()
            },
        }
    }

    fn route(event_type: &str, intent: &str, to: u8) -> Route {
        Route {
            event_type: event_type.parse().unwrap(),
            filter: None,
            intent: intent.parse().unwrap(),
            target_session: None,
            webhook_id: id(to),
        }
    }

    #[test]
    fn a_webhook_gets_an_event_once_through_the_first_matching_route() {
        use WebhookStatus::{Active, Disabled, Failed, Paused};
        let webhooks = [
            webhook(1, Active),
            webhook(2, Paused),
            webhook(3, Disabled),
            webhook(4, Failed),
        ];
        let routes = [
            route("push", "other", 1),
            route("pull_request.*", "first", 2),
            route("*", "second", 2),
            route("*", "disabled", 3),
            route("*", "gone", 9),
            route("pull_request.opened", "review", 1),
            route("*", "failed", 4),
        ];
        let planned = |event_type: &str| -> Vec<(WebhookId, String)> {
            let event_type = event_type.parse().unwrap();
            let found = follow(&routes, &event_type, &Payload::from(&json!({})), &webhooks);
            found
                .iter()
                .map(|one| (one.webhook.id, one.route.intent.as_str().to_owned()))
                .collect()
        };
        let pair = |n, intent: &str| (id(n), intent.to_owned());
        assert_eq!(
            planned("pull_request.opened"),
            [pair(2, "first"), pair(1, "review"), pair(4, "failed")]
        );
        assert_eq!(
            planned("push"),
            [pair(1, "other"), pair(2, "second"), pair(4, "failed")]
        );
        let push = "push".parse().unwrap();
        assert_eq!(
            follow(&[], &push, &Payload::from(&json!({})), &webhooks),
            []
        );
    }

    #[test]
    fn a_route_and_its_webhook_may_each_have_a_filter() {
        let filter = |source: Value| Some(PayloadFilter::compile("filter", source).unwrap());
        let mut own = webhook(1, WebhookStatus::Active);
        own.settings.filter = filter(json!({"draft": [{"anything-but": true}]}));
        let urgent = Route {
            filter: filter(json!({"label": ["urgent"]})),
            ..route("push", "urgent", 1)
        };
        let (routes, webhooks) = ([urgent, route("*", "other", 1)], [own]);
        let intents = |body: Value| -> Vec<String> {
            let push = "push".parse().unwrap();
            let found = follow(&routes, &push, &Payload::from(&body), &webhooks);
            let intents = found.iter().map(|one| one.route.intent.as_str());
            intents.map(str::to_owned).collect()
        };
        assert_eq!(
            intents(json!({"label": "urgent", "draft": false})),
            ["urgent"]
        );
        assert_eq!(intents(json!({"label": "none", "draft": false})), ["other"]);
        assert_eq!(intents(json!({"label": "urgent", "draft": true})), [""; 0]);
    }

    #[test]
    fn a_webhook_gets_what_its_filter_matches_even_if_it_is_named() {
        let mut small = webhook(1, WebhookStatus::Active);
        small.settings.event_types = vec!["*".parse().unwrap()];
        small.settings.filter = Some(
            PayloadFilter::compile("filter", json!({"total": [{"numeric": ["<", 10]}]})).unwrap(),
        );
        let mut all = webhook(2, WebhookStatus::Active);
        all.settings.event_types = vec!["*".parse().unwrap()];
        let webhooks = [small, all];
        let planned = |origin, named, body: &'static str| -> Vec<WebhookId> {
            let body = Bytes::from_static(body.as_bytes());
            let event = Event {
                id: EventId::from_bytes([1; 16]),
                tenant: TenantId::default(),
                event_type: "order".parse().unwrap(),
                session_id: None,
                content_type: "text/plain".parse().unwrap(),
                body: body.clone(),
                origin,
                created_at: Timestamp::ZERO,
            };
            let found = plan(&event, &Payload::new(body), named, &webhooks).unwrap();
            found.into_iter().map(|webhook| webhook.id).collect()
        };
        assert_eq!(
            planned(Origin::Api, None, r#"{"total": 5}"#),
            [id(1), id(2)]
        );
        assert_eq!(planned(Origin::Api, None, r#"{"total": 50}"#), [id(2)]);
        assert_eq!(planned(Origin::Api, None, "total: 5"), [id(2)]);
        assert_eq!(
            planned(Origin::Api, Some(id(1)), r#"{"total": 5}"#),
            [id(1)]
        );
        assert_eq!(planned(Origin::Api, Some(id(1)), r#"{"total": 50}"#), []);
        assert_eq!(planned(Origin::Test, Some(id(1)), "{}"), [id(1)]);
    }
}
