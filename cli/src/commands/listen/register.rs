//! A webhook for as long as the receiver runs.

use postrider_domain::secret::SigningSecret;

use super::super::webhooks::WebhookBody;
use crate::args::GatewayArgs;
use crate::client::Client;
use crate::failure::{Ending, Failure};
use crate::output::Output;
use crate::shapes::Webhook;

/// A webhook that was made for this receiver.
pub(super) struct Registration {
    client: Client,
    webhook: Webhook,
}

/// Makes the webhook.
pub(super) async fn register(
    gateway: &GatewayArgs,
    name: String,
    target: String,
    event_types: Vec<String>,
) -> Result<Registration, Failure> {
    let client = Client::new(gateway)?;
    let body = WebhookBody::new(name, target, event_types);
    let answer = client
        .post(&["v1", "webhooks"], &body)
        .await
        .map_err(advise)?;
    let webhook = answer.read()?;
    Ok(Registration { client, webhook })
}

/// A gateway does not send to this machine unless it is told to.
fn advise(mut failure: Failure) -> Failure {
    if let Failure::Refused {
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

    /// Deletes the webhook again.
    pub(super) async fn remove(self, out: Output) -> Result<Ending, Failure> {
        match self
            .client
            .delete(&["v1", "webhooks", &self.webhook.id])
            .await
        {
            Ok(_) => {
                out.note(format!("Deleted {}.", self.webhook.id));
                Ok(Ending::Fine)
            }
            Err(failure) => {
                out.note(format!(
                    "Still there: postrider webhooks delete {}",
                    self.webhook.id
                ));
                Err(failure)
            }
        }
    }
}
