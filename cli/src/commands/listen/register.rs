//! A temporary webhook for the receiver, and routes of a source to it.

use postrider_api_types::source::{NewRoute, NewRoutes, RouteList, SourceView};
use postrider_api_types::webhook::{CreatedWebhook, NewWebhook, WebhookView};
use postrider_domain::secret::SigningSecret;

use crate::args::GatewayArgs;
use crate::client::Client;
use crate::failure::{Ending, Failure};
use crate::output::Output;
use crate::pages;

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
    webhook: WebhookView,
    secret: SigningSecret,
    source: Option<SourceView>,
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
    let body = NewWebhook {
        name,
        target_url: target,
        event_types: event_types.clone(),
        ..NewWebhook::default()
    };
    // A gateway that is still starting answers this late, rather than the call that creates something.
    client.get(&["healthz"]).await?;
    let answer = match client.post(&["v1", "webhooks"], &body).await {
        Ok(answer) => answer,
        Err(failure) => {
            if !matches!(failure, Failure::Rejected { .. }) {
                delete_what_was_created(&client, &body).await;
            }
            return Err(advise(failure));
        }
    };
    let CreatedWebhook { webhook, secret } = answer.read()?;
    let secret = SigningSecret::parse(secret.expose())
        .map_err(|error| Failure::NotUnderstood(format!("the secret of a new webhook {error}")))?;
    let mut registration = Registration {
        client,
        webhook,
        secret,
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

/// A call that got no answer may have created the webhook all the same. Its URL has the port of this receiver.
async fn delete_what_was_created(client: &Client, body: &NewWebhook) {
    let Ok(listing) = pages::all(client, &["v1", "webhooks"]).await else {
        return;
    };
    for webhook in listing.read::<WebhookView>().unwrap_or_default() {
        if webhook.name == body.name && webhook.target_url == body.target_url {
            // What went wrong before is what the user has to know.
            let _ = client.delete(&["v1", "webhooks", &webhook.id]).await;
        }
    }
}

/// An event type that the webhook gets.
fn example_of(event_types: &[String]) -> String {
    const USUAL: &str = "task.completed";
    let pattern = event_types.first().map_or("*", String::as_str);
    if ["*", "**", "none"].contains(&pattern) {
        return USUAL.to_owned();
    }
    let named = |segment| match segment {
        "*" | "**" => "example",
        named => named,
    };
    let segments: Vec<&str> = pattern.split('.').map(named).collect();
    segments.join(".")
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

    pub(super) const fn secret(&self) -> &SigningSecret {
        &self.secret
    }

    /// A command that sends something to the receiver.
    pub(super) fn example(&self) -> String {
        match &self.source {
            Some(SourceView { id, scheme, .. }) => {
                format!("postrider trigger {scheme} --source {id}")
            }
            None => format!("postrider send {}", example_of(&self.webhook.event_types)),
        }
    }

    /// Adds routes after the existing ones, so that nothing changes for other webhooks.
    async fn attach(
        &self,
        source: &str,
        intent: &str,
        event_types: Vec<String>,
    ) -> Result<SourceView, Failure> {
        let source: SourceView = self.client.get(&["v1", "sources", source]).await?.read()?;
        let existing = source.routes.iter().cloned();
        let mut routes: Vec<NewRoute> = existing.map(NewRoute::from).collect();
        routes.extend(event_types.into_iter().map(|event_type| NewRoute {
            event_type,
            filter: None,
            intent: intent.to_owned(),
            target_session: None,
            webhook_id: self.webhook.id.clone(),
        }));
        let path = ["v1", "sources", &source.id, "routes"];
        self.client.put(&path, &NewRoutes { routes }).await?;
        Ok(source)
    }

    /// Removes only our own routes, because others may have changed meanwhile.
    async fn detach(&self) -> Result<(), Failure> {
        let Some(SourceView { id, .. }) = &self.source else {
            return Ok(());
        };
        let path = ["v1", "sources", id, "routes"];
        let RouteList { routes } = self.client.get(&path).await?.read()?;
        let others = routes.into_iter();
        let others = others.filter(|route| route.webhook_id != self.webhook.id);
        let routes = others.map(NewRoute::from).collect();
        self.client.put(&path, &NewRoutes { routes }).await?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_is_an_event_that_the_webhook_gets() {
        for (pattern, example) in [
            ("*", "task.completed"),
            ("order.*", "order.example"),
            ("*.paid", "example.paid"),
            ("build.failed", "build.failed"),
        ] {
            assert_eq!(example_of(&[pattern.to_owned()]), example);
        }
    }
}
