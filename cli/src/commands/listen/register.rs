//! A webhook for as long as the receiver runs, and routes of a source that lead to it.

use postrider_domain::secret::SigningSecret;

use super::super::webhooks::WebhookBody;
use crate::args::GatewayArgs;
use crate::client::Client;
use crate::failure::{Ending, Failure};
use crate::inbound::{Route, Routes, Source};
use crate::output::Output;
use crate::shapes::Webhook;

/// What the receiver wants to hear of.
pub(super) struct Wanted {
    pub(super) name: String,
    pub(super) target: String,
    pub(super) event_types: Vec<String>,
    /// A source, and the intent of what it leads here.
    pub(super) source: Option<(String, String)>,
}

/// A webhook that was made for this receiver.
pub(super) struct Registration {
    client: Client,
    webhook: Webhook,
    source: Option<Source>,
}

/// Makes the webhook and the routes.
pub(super) async fn register(
    gateway: &GatewayArgs,
    wanted: Wanted,
) -> Result<Registration, Failure> {
    let client = Client::new(gateway)?;
    let Wanted {
        name,
        target,
        event_types,
        source,
    } = wanted;
    let body = WebhookBody::new(name, target, event_types.clone());
    let answer = client
        .post(&["v1", "webhooks"], &body)
        .await
        .map_err(advise)?;
    let mut registration = Registration {
        client,
        webhook: answer.read()?,
        source: None,
    };
    if let Some((source, intent)) = source {
        match registration.attach(&source, &intent, event_types).await {
            Ok(source) => registration.source = Some(source),
            Err(failure) => {
                registration.delete_webhook().await?;
                return Err(failure);
            }
        }
    }
    Ok(registration)
}

/// A gateway does not send to this machine unless it is told to.
fn advise(mut failure: Failure) -> Failure {
    if let Failure::Rejected {
        problem,
        advice: advice @ None,
    } = &mut failure
        && problem.blames("target_url")
    {
        let start = "POSTRIDER_EGRESS_ALLOW=127.0.0.1/32 postrider serve";
        *advice = Some(format!("let the gateway send to this machine: {start}"));
    }
    failure
}

impl Registration {
    /// The webhook's id.
    pub(super) fn id(&self) -> &str {
        &self.webhook.id
    }

    /// What it signs with.
    pub(super) fn secret(&self) -> Result<SigningSecret, Failure> {
        let missing = || Failure::NotUnderstood("a new webhook without its secret".to_owned());
        self.webhook
            .secret
            .as_ref()
            .ok_or_else(missing)?
            .signing_secret()
    }

    /// A command that makes something arrive.
    pub(super) fn example(&self) -> String {
        match &self.source {
            Some(Source { id, scheme, .. }) => format!("postrider trigger {scheme} --source {id}"),
            None => "postrider send task.completed".to_owned(),
        }
    }

    /// The new routes stand behind those that are there: for other webhooks nothing changes.
    async fn attach(
        &self,
        source: &str,
        intent: &str,
        event_types: Vec<String>,
    ) -> Result<Source, Failure> {
        let source: Source = self.client.get(&["v1", "sources", source]).await?.read()?;
        let mut routes = source.routes.clone();
        routes.extend(event_types.into_iter().map(|event_type| Route {
            event_type,
            intent: intent.to_owned(),
            target_session: None,
            webhook_id: self.webhook.id.clone(),
        }));
        let path = ["v1", "sources", &source.id, "routes"];
        self.client.put(&path, &Routes { routes }).await?;
        Ok(source)
    }

    /// Others may have changed the source's routes meanwhile: only our own are taken away.
    async fn detach(&self) -> Result<(), Failure> {
        let Some(Source { id, .. }) = &self.source else {
            return Ok(());
        };
        let path = ["v1", "sources", id, "routes"];
        let Routes { mut routes } = self.client.get(&path).await?.read()?;
        routes.retain(|route| route.webhook_id != self.webhook.id);
        self.client.put(&path, &Routes { routes }).await?;
        Ok(())
    }

    async fn delete_webhook(&self) -> Result<(), Failure> {
        let path = ["v1", "webhooks", &self.webhook.id];
        self.client.delete(&path).await?;
        Ok(())
    }

    /// Takes the routes away and deletes the webhook again.
    pub(super) async fn remove(self, out: Output) -> Result<Ending, Failure> {
        let detached = self.detach().await;
        if let (Err(_), Some(source)) = (&detached, &self.source) {
            out.note(format!(
                "Still there: the routes of {} to {}",
                source.id, self.webhook.id
            ));
        }
        match self.delete_webhook().await {
            Ok(()) => out.note(format!("Deleted {}.", self.webhook.id)),
            Err(failure) => {
                out.note(format!(
                    "Still there: postrider webhooks delete {}",
                    self.webhook.id
                ));
                return Err(failure);
            }
        }
        detached.map(|()| Ending::Fine)
    }
}
