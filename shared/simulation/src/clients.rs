//! Publishers, who repeat what was not answered, and operators.

use std::sync::Arc;

use bytes::Bytes;
use http::HeaderName;
use postrider_domain::delivery::Force;
use postrider_domain::event::Origin;
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::inbound::Inbound;
use postrider_domain::route::RouteDraft;
use postrider_domain::secret::SigningSecret;
use postrider_domain::signature;
use postrider_domain::source::SourceDraft;
use postrider_domain::webhook::Webhook;
use postrider_gateway::ingest::{EventDraft, Published};
use postrider_gateway::receive::Received;
use postrider_ports::configs::Created;
use postrider_ports::history::Filter;

use super::audit::Promise;
use super::world::World;

/// How often a publisher repeats a call.
const TRIES: usize = 8;
/// Of four events, the one with this number is inbound. The tenant of the source has the even ones.
const INBOUND: usize = 2;

/// What the source signs with.
fn secret() -> SigningSecret {
    SigningSecret::from_key(&[5; 32])
}

/// The key of an event, if it has one.
pub(super) fn key(number: usize) -> String {
    format!("key-{number}")
}

impl World {
    /// Stores the webhooks, before anything goes wrong.
    pub(super) async fn set_up(self: Arc<Self>) {
        for webhook in &self.webhooks {
            let webhook: Webhook = webhook.clone();
            let created = self
                .api(|gateway| async move { gateway.ports.store.create_webhook(webhook).await });
            assert_eq!(created.await, Some(Ok(Created::Done)));
        }
        self.set_up_source().await;
        *self.is_set_up.lock() = true;
    }

    /// A sender whose events go to the first two webhooks.
    async fn set_up_source(self: &Arc<Self>) {
        let route = |webhook: &Webhook| RouteDraft {
            event_type: "*".to_owned(),
            filter: None,
            intent: "review".to_owned(),
            target_session: None,
            webhook_id: webhook.id.to_string(),
        };
        let draft = SourceDraft {
            name: "Forge".to_owned(),
            scheme: "postrider".to_owned(),
            routes: self.webhooks.iter().take(2).map(route).collect(),
            ..SourceDraft::default()
        };
        let tenant = self.tenants[0].clone();
        let created = self.api(|gateway| async move {
            let (sources, secret) = (&gateway.sources, secret());
            sources.create(&tenant, draft, secret.expose()).await
        });
        let source = created.await.unwrap().unwrap();
        *self.source.lock() = Some(source.id.to_string());
    }

    /// Publishes one event. Every second publisher uses a key, and some of these repeat even what was answered.
    pub(super) async fn publish(self: Arc<Self>, number: usize, at_ms: i64) {
        self.executor.sleep(at_ms - self.executor.now_ms()).await;
        let tenants = &self.tenants;
        let tenant = tenants[number % tenants.len()].clone();
        let is_inbound = number % 4 == INBOUND;
        // Senders number what they send.
        let key = is_inbound || self.draws.below("key", 2) == 0;
        let key = key.then(|| self::key(number));
        let Some(first) = self
            .publish_until_answered(number, &tenant, key.as_deref())
            .await
        else {
            return;
        };
        self.note(&format!("acknowledged {:?}", first.deliveries));
        self.audit.acknowledge(&tenant, &first.deliveries);
        if key.is_none() || self.draws.below("again", 3) > 0 {
            return;
        }
        let later = self.draws.between("again after", 0, 120_000);
        self.executor.sleep(later).await;
        let again = self
            .publish_until_answered(number, &tenant, key.as_deref())
            .await;
        let is_same =
            |again: &Published| again.event == first.event && again.deliveries == first.deliveries;
        if !again.as_ref().is_none_or(is_same) {
            let detail = format!("{:?} became {again:?}", first.deliveries);
            self.audit.violate(Promise::Idempotent, detail);
        }
    }

    pub(super) async fn publish_until_answered(
        self: &Arc<Self>,
        number: usize,
        tenant: &TenantId,
        key: Option<&str>,
    ) -> Option<Published> {
        for _ in 0..TRIES {
            let draft = EventDraft {
                event_type: "task.completed".to_owned(),
                body: Bytes::from(format!("{{\"n\":{number}}}")),
                content_type: "application/json".to_owned(),
                session_id: None,
                webhook_id: None,
                origin: Origin::Api,
            };
            let (tenant, key) = (tenant.clone(), key.map(ToOwned::to_owned));
            let answer = if number % 4 == INBOUND {
                self.send_inbound(draft.body, key.unwrap_or_default()).await
            } else {
                let published = self.api(|gateway| async move {
                    let published = gateway.ingest.publish(&tenant, draft, key.as_deref());
                    published.await.ok()
                });
                published.await.flatten()
            };
            if answer.is_some() {
                return answer;
            }
            let pause = self.draws.between("repeat", 200, 5000);
            self.executor.sleep(pause).await;
        }
        None
    }

    /// Sends a signed event to the source.
    async fn send_inbound(self: &Arc<Self>, body: Bytes, id: String) -> Option<Published> {
        let source = self.source.lock().clone()?;
        let headers = [
            (
                "x-observatory-signature",
                signature::plain(&secret(), &body),
            ),
            ("x-webhook-event", "push".to_owned()),
            ("webhook-id", id),
            ("content-type", "application/json".to_owned()),
        ];
        let header = |(name, value): (&'static str, String)| {
            (HeaderName::from_static(name), value.parse().unwrap())
        };
        let inbound = Inbound::post(headers.into_iter().map(header).collect(), body);
        let received = self.api(|gateway| async move {
            match gateway.receive.receive(&source, inbound, || ()).await {
                Ok(Received::Stored(published)) => Some(published),
                Ok(Received::Answered(reply)) => panic!("no handshake: {reply:?}"),
                Err(_) => None,
            }
        });
        received.await.flatten()
    }

    /// Pauses a webhook and resumes it, deletes it, or retries deliveries.
    pub(super) async fn operate(self: Arc<Self>, at_ms: i64) {
        self.executor.sleep(at_ms - self.executor.now_ms()).await;
        let webhook = &self.webhooks[self.draws.index("operated", self.webhooks.len())];
        let (tenant, id) = (webhook.tenant.clone(), webhook.id);
        match self.draws.below("operation", 8) {
            0..3 => {
                self.note(&format!("an operator pauses {id}"));
                self.pause(&tenant, id).await;
                let later = self.draws.between("paused", 1000, 180_000);
                self.executor.sleep(later).await;
                self.note(&format!("an operator resumes {id}"));
                self.resume(&tenant, id).await;
            }
            3..5 => self.retry_some(&tenant).await,
            5 | 6 => self.retry_all_dead(&tenant).await,
            _ => self.delete(webhook).await,
        }
    }

    /// Starts a bulk retry, which the poller goes on with.
    async fn retry_all_dead(self: &Arc<Self>, tenant: &TenantId) {
        self.audit.retry_all();
        self.note("an operator retries all dead deliveries");
        let tenant = tenant.clone();
        let begun = self.api(|gateway| async move {
            gateway
                .retries
                .begin(&tenant, Filter::default())
                .await
                .is_ok()
        });
        begun.await;
    }

    async fn delete(self: &Arc<Self>, webhook: &Webhook) {
        let (tenant, id) = (webhook.tenant.clone(), webhook.id);
        self.note(&format!("an operator deletes {id}"));
        self.audit.delete_webhook(&webhook.settings.name);
        let deleted =
            self.api(|gateway| async move { gateway.manage.delete(&tenant, id).await.is_ok() });
        deleted.await;
    }

    pub(super) async fn pause(self: &Arc<Self>, tenant: &TenantId, id: WebhookId) {
        let tenant = tenant.clone();
        // A pause that fails is not repeated: the webhook is then paused or not.
        let paused = self.api(|gateway| async move { gateway.manage.pause(&tenant, id).await });
        paused.await;
    }

    /// Resumes a webhook, which may be active already.
    pub(super) async fn resume(self: &Arc<Self>, tenant: &TenantId, id: WebhookId) {
        let tenant = tenant.clone();
        let resumed = self.api(|gateway| async move { gateway.manage.resume(&tenant, id).await });
        resumed.await;
    }

    pub(super) async fn retry_some(self: &Arc<Self>, tenant: &TenantId) {
        for (id, _) in self.audit.acknowledged() {
            if self.draws.below("retried", 4) > 0 {
                continue;
            }
            self.audit.requeue(id);
            let tenant = tenant.clone();
            let retry = self.api(|gateway| async move {
                gateway
                    .retries
                    .retry_now(&tenant, id, Force::No)
                    .await
                    .is_ok()
            });
            if retry.await == Some(true) {
                self.note(&format!("an operator retried {id}"));
            }
        }
    }
}
