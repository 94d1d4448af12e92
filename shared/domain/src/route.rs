//! Which webhooks an event goes to.

use serde::{Deserialize, Serialize};

use crate::event::{Event, Label};
use crate::health::WebhookStatus;
use crate::ids::WebhookId;
use crate::invalid::Invalid;
use crate::pattern::{EventType, Pattern};
use crate::webhook::Webhook;

/// Why an event cannot be sent to the webhook it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unroutable {
    #[error("no webhook has this id")]
    Unknown,
    #[error("this webhook is disabled")]
    Disabled,
}

/// The webhooks that an event goes to: the one it names, whatever its subscriptions, or all that subscribe to its type.
pub fn plan<'a>(
    event: &Event,
    named: Option<WebhookId>,
    webhooks: &'a [Webhook],
) -> Result<Vec<&'a Webhook>, Unroutable> {
    let Some(named) = named else {
        return Ok(webhooks
            .iter()
            .filter(|webhook| webhook.wants(&event.event_type))
            .collect());
    };
    let webhook = webhooks
        .iter()
        .find(|webhook| webhook.id == named)
        .ok_or(Unroutable::Unknown)?;
    match webhook.health.status {
        WebhookStatus::Disabled => Err(Unroutable::Disabled),
        WebhookStatus::Active | WebhookStatus::Failed | WebhookStatus::Paused => Ok(vec![webhook]),
    }
}

/// Where a source's events of some types go, and what the receiver should do with them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    pub event_type: Pattern,
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
            intent,
            target_session: target_session.flatten(),
            webhook_id,
        })
    }
}

impl From<&Route> for RouteDraft {
    fn from(route: &Route) -> Self {
        Self {
            event_type: route.event_type.to_string(),
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
/// skipped: the sender cannot do anything about them.
#[must_use]
pub fn follow<'a>(
    routes: &'a [Route],
    event_type: &EventType,
    webhooks: &'a [Webhook],
) -> Vec<Routed<'a>> {
    let mut planned: Vec<Routed<'a>> = Vec::new();
    for route in routes {
        let is_new = planned
            .iter()
            .all(|other| other.route.webhook_id != route.webhook_id);
        if !is_new || !route.event_type.matches(event_type) {
            continue;
        }
        let webhook = webhooks.iter().find(|webhook| {
            webhook.id == route.webhook_id && webhook.health.status != WebhookStatus::Disabled
        });
        planned.extend(webhook.map(|webhook| Routed { webhook, route }));
    }
    planned
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::egress::Rules;
    use crate::health::Health;
    use crate::ids::TenantId;
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
            let found = follow(&routes, &event_type, &webhooks);
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
        assert_eq!(follow(&[], &"push".parse().unwrap(), &webhooks), []);
    }
}
