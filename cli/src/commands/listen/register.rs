//! A temporary webhook for the receiver, and routes of a source to it.

use postrider_domain::secret::SigningSecret;

use super::super::webhooks::WebhookBody;
use crate::args::GatewayArgs;
use crate::client::Client;
use crate::failure::{Ending, Failure};
use crate::inbound::{Route, Routes, Source};
use crate::output::Output;
use crate::shapes::Webhook;

/// What to send to the receiver.
pub(super) struct Wanted {
    pub(super) name: String,
    pub(super) target: String,
    pub(super) event_types: Vec<String>,
    /// A source, and the intent of its routes.
    pub(super) source: Option<(String, String)>,
}

/// The webhook created for this receiver.
pub(super) struct Registration {
    client: Client,
    webhook: Webhook,
    source: Option<Source>,
}

/// Creates the webhook and the routes.
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

/// By default, a gateway does not send to this machine.
fn advise(mut failure: Failure) -> Failure {
    if let Failure::Rejected {
        problem,
        advice: advice @ None,
    } = &mut failure
        && problem.blames("target_url")
    {
        let start = "POSTRIDER_EGRESS_ALLOW=127.0.0.1/32 postrider serve";
        *advice = Some(format!(
            "allow the gateway to send to this machine: {start}"
        ));
    }
    failure
}

impl Registration {
    pub(super) fn id(&self) -> &str {
        &self.webhook.id
    }

    pub(super) fn secret(&self) -> Result<SigningSecret, Failure> {
        let missing = || Failure::NotUnderstood("a new webhook has no secret".to_owned());
        self.webhook
            .secret
            .as_ref()
            .ok_or_else(missing)?
            .signing_secret()
    }

    /// A command that sends something to the receiver.
    pub(super) fn example(&self) -> String {
        match &self.source {
            Some(Source { id, scheme, .. }) => format!("postrider trigger {scheme} --source {id}"),
            None => "postrider send task.completed".to_owned(),
        }
    }

    /// Adds routes after the existing ones, so that nothing changes for other webhooks.
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

    /// Removes only our own routes, because others may have changed meanwhile.
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

    /// Removes the routes and deletes the webhook.
    pub(super) async fn remove(self, out: Output) -> Result<Ending, Failure> {
        let detached = self.detach().await;
        if let (Err(_), Some(source)) = (&detached, &self.source) {
            out.note(format!(
                "Could not remove the routes of {} to {}.",
                source.id, self.webhook.id
            ));
        }
        match self.delete_webhook().await {
            Ok(()) => out.note(format!("Deleted {}.", self.webhook.id)),
            Err(failure) => {
                out.note(format!(
                    "Could not delete the webhook. To delete it: postrider webhooks delete {}",
                    self.webhook.id
                ));
                return Err(failure);
            }
        }
        detached.map(|()| Ending::Fine)
    }
}
