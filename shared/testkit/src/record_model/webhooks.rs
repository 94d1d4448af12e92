//! Webhooks and their state, as far as probes, limiters and e-mails depend on it.

use postrider_domain::decide::Transition;
use postrider_domain::delivery::{Claimed, DeadCause, Unclaimable};
use postrider_domain::health::{Health, WebhookStatus};
use postrider_domain::ids::{DeliveryId, WebhookId};
use postrider_domain::notification::{effects, health_notification};
use postrider_domain::time::{Millis, Timestamp};
use postrider_domain::webhook::Webhook;
use postrider_ports::configs::Created;
use postrider_ports::deliveries::{Accepted, Applied, Claim, Seen, Wanted};
use proptest::prelude::*;

use super::flows::Flow;
use super::tenants::Exists;
use super::version::Raised;
use super::{Model, Records};
use crate::builders;
use crate::store_suite::Fixture;

/// Per tenant.
const WEBHOOKS: usize = 2;
const LEASE: Millis = Millis::from_seconds(20);

#[derive(Clone, Debug)]
pub(super) enum WebhookCommand {
    SetStatus {
        webhook: usize,
        status: usize,
    },
    /// Attempts a new delivery, if the webhook is active.
    Attempt {
        webhook: usize,
        ending: Ending,
    },
    Delete {
        webhook: usize,
    },
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Ending {
    Delivered,
    Dead(DeadCause),
}

pub(super) fn command() -> impl Strategy<Value = WebhookCommand> {
    let number = any::<usize>;
    let ending = prop_oneof![
        1 => Just(Ending::Delivered),
        2 => Just(Ending::Dead(DeadCause::Rejected)),
        4 => Just(Ending::Dead(DeadCause::ExhaustedFailingWebhook)),
    ];
    prop_oneof![
        4 => (number(), 0..4_usize)
            .prop_map(|(webhook, status)| WebhookCommand::SetStatus { webhook, status }),
        8 => (number(), ending)
            .prop_map(|(webhook, ending)| WebhookCommand::Attempt { webhook, ending }),
        1 => number().prop_map(|webhook| WebhookCommand::Delete { webhook }),
    ]
}

/// A webhook as it was last, and what workers share about it.
pub(super) struct Kept {
    pub(super) webhook: Webhook,
    pub(super) is_stored: bool,
    pub(super) flow: Flow,
}

impl Kept {
    /// The state of a webhook that is stored.
    pub(super) fn health(&self) -> Option<&Health> {
        Some(&self.webhook.health).filter(|_| self.is_stored)
    }
}

impl Records {
    pub(super) fn kept(&mut self, place: usize) -> &mut Kept {
        &mut self.webhooks[place]
    }

    pub(super) fn id_at(&self, place: usize) -> WebhookId {
        self.webhooks[place].webhook.id
    }

    /// Changes the state of a webhook, with what follows.
    pub(super) fn set_health(&mut self, place: usize, after: &Health, at: Timestamp) {
        let kept = &mut self.webhooks[place];
        let id = kept.webhook.id;
        let before = std::mem::replace(&mut kept.webhook.health, after.clone());
        let notification = health_notification(&self.tenant, id, &before, after, at);
        self.emails.file(notification.as_ref());
        if before.status != after.status {
            let both = [before.status, after.status];
            self.raise(if both.contains(&WebhookStatus::Disabled) {
                Raised::Yes
            } else {
                Raised::Perhaps
            });
        }
    }
}

impl Model {
    pub(super) async fn do_with_webhooks(
        &mut self,
        command: &WebhookCommand,
        fixture: &impl Fixture,
    ) -> Result<(), TestCaseError> {
        match *command {
            WebhookCommand::SetStatus { webhook, status } => {
                let place = self.webhook_at(webhook).await?;
                self.set_status(place, WebhookStatus::ALL[status]).await
            }
            WebhookCommand::Attempt { webhook, ending } => {
                let place = self.webhook_at(webhook).await?;
                self.attempt(place, ending).await?;
                fixture.follow().await;
                self.look_at_failed(place).await;
                Ok(())
            }
            WebhookCommand::Delete { webhook } => {
                let place = self.webhook_at(webhook).await?;
                self.delete_webhook(place).await
            }
        }
    }

    /// Numbers choose among the webhooks, also deleted ones, and create some.
    pub(super) async fn webhook_at(&mut self, n: usize) -> Result<usize, TestCaseError> {
        let count = self.ours.webhooks.len();
        if count == 0 || (count < WEBHOOKS && n.is_multiple_of(5)) {
            self.create_webhook().await?;
            return Ok(count);
        }
        Ok(n % count)
    }

    async fn create_webhook(&mut self) -> Result<(), TestCaseError> {
        let n = self.draw();
        let mut webhook = Webhook {
            id: WebhookId::from_bytes(self.unique()),
            created_at: self.now,
            updated_at: self.now,
            ..builders::webhook(&self.ours.tenant, n)
        };
        webhook.settings.auto_resume = self.ours.webhooks.len() != 1;
        let flow = Flow::new(&webhook);
        self.ours.exists(Exists::Yes);
        self.ours.raise(Raised::Yes);
        self.ours.webhooks.push(Kept {
            webhook: webhook.clone(),
            is_stored: true,
            flow,
        });
        let created = self.store().create_webhook(webhook).await;
        prop_assert_eq!(created, Ok(Created::Done));
        Ok(())
    }

    async fn set_status(
        &mut self,
        place: usize,
        status: WebhookStatus,
    ) -> Result<(), TestCaseError> {
        let (id, now) = (self.ours.id_at(place), self.now);
        let before = self.ours.kept(place).health().cloned();
        let changed = before.filter(|before| before.status != status);
        if let Some(after) = changed.map(|before| before.set(status, now)) {
            self.ours.set_health(place, &after, now);
            self.ours.kept(place).flow.follow(&after);
        }
        let expected = self.ours.kept(place).health().cloned();
        let (store, tenant) = (self.store(), &self.ours.tenant);
        let set = store.set_webhook_status(tenant, id, status, now).await;
        prop_assert_eq!(set, Ok(expected));
        self.look_at_drain(place).await;
        Ok(())
    }

    async fn delete_webhook(&mut self, place: usize) -> Result<(), TestCaseError> {
        let kept = self.ours.kept(place);
        let (id, existed) = (kept.webhook.id, std::mem::take(&mut kept.is_stored));
        if existed {
            self.ours.raise(Raised::Yes);
        }
        let (store, tenant) = (self.store(), &self.ours.tenant);
        let deleted = store.delete_webhook(tenant, id, self.now).await;
        prop_assert_eq!(deleted, Ok(existed));
        self.look_at_drain(place).await;
        Ok(())
    }

    async fn attempt(&mut self, place: usize, ending: Ending) -> Result<(), TestCaseError> {
        let Some(health) = self.ours.kept(place).health().cloned() else {
            return Ok(());
        };
        if health.status.is_stopped() {
            return Ok(());
        }
        let claimed = self.claimed(self.ours.id_at(place)).await?;
        let transition = match ending {
            Ending::Delivered => Transition::Deliver,
            Ending::Dead(cause) => Transition::Die { cause },
        };
        let mut completion = builders::completion(&claimed, transition, self.now);
        completion.generation = health.generation;
        let applied = self.store().apply(&claimed, completion, self.now).await;
        let Ok(Applied::Done(row)) = applied else {
            return Err(TestCaseError::fail(format!("{applied:?}")));
        };
        let effects = effects(claimed.delivery(), &row, &health, self.now);
        if let Some(after) = effects.health {
            self.ours.set_health(place, &after, self.now);
        }
        Ok(())
    }

    /// A new delivery for a webhook, claimed: by its message, or from the backlog if the webhook is limited.
    async fn claimed(&mut self, webhook: WebhookId) -> Result<Claimed, TestCaseError> {
        let n = self.draw();
        let event = builders::event(&self.ours.tenant, n, self.now);
        let id = DeliveryId {
            event: event.id,
            webhook,
        };
        let version = self.store().webhooks_version(&self.ours.tenant).await;
        let acceptance = builders::acceptance(event, &[webhook], version.unwrap());
        let accepted = self.store().accept(vec![acceptance]).await;
        prop_assert_eq!(accepted, vec![Ok(Accepted::New)]);
        let wanted = self.wanted(id);
        let claim = self.store().claim(vec![wanted], self.now).await.remove(0);
        let claim = match claim {
            Ok(Claim::Unclaimable(Unclaimable::InBacklog)) => {
                let wanted = vec![self.wanted(id)];
                let mut claims = self.store().claim_from_backlog(wanted, self.now).await;
                claims.remove(0)
            }
            claim => claim,
        };
        match claim {
            Ok(Claim::Claimed(delivery)) => Ok(delivery.claimed),
            other => Err(TestCaseError::fail(format!("{other:?}"))),
        }
    }

    fn wanted(&mut self, id: DeliveryId) -> Wanted {
        let claim = u64::from(self.draw());
        Wanted {
            tenant: self.ours.tenant.clone(),
            id,
            lease: builders::lease(&self.handle().process, claim, self.now.plus(LEASE)),
            seen: Seen::default(),
        }
    }

    pub(super) async fn compare_webhooks(&self) -> Result<(), TestCaseError> {
        let (store, tenant) = (self.store(), &self.ours.tenant);
        for kept in &self.ours.webhooks {
            let found = store.webhook(tenant, kept.webhook.id).await.unwrap();
            let expected = Some(&kept.webhook).filter(|_| kept.is_stored);
            prop_assert_eq!(found.as_ref(), expected);
        }
        Ok(())
    }
}
