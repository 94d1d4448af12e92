//! `postrider webhooks`: where events go.

mod settings;
mod show;

use clap::{Args, Subcommand};
use serde_json::json;

pub(super) use self::settings::WebhookBody;
use self::settings::{CreateArgs, UpdateArgs};
use super::follow::{WaitArgs, show_published};
use crate::client::{Answer, Client};
use crate::failure::{Ending, Failure};
use crate::hidden::Hidden;
use crate::output::{Output, Tone};
use crate::pages;
use crate::shapes::{Rotated, Webhook};
use crate::when::short_time;

const AFTER_HELP: &str = "\
Examples:
  postrider webhooks create --to https://example.com/hook --event-types 'task.*,build.failed'
  postrider webhooks create --to https://example.com/hook --profile standard --owner-email me@example.com
  postrider webhooks update wh_… --max-attempts 8 --header 'X-Env: prod'
  postrider webhooks test wh_… --wait
  postrider webhooks resume wh_…";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct WebhooksArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Args)]
struct Named {
    /// The webhook's id, wh_…
    id: String,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List them with their state
    List,
    /// Show one with its settings
    Show(Named),
    /// Make one; its secret is shown this once
    #[command(after_help = AFTER_HELP)]
    Create(Box<CreateArgs>),
    /// Change what is named, leave the rest
    #[command(after_help = AFTER_HELP)]
    Update(Box<UpdateArgs>),
    /// Remove one; its open deliveries die
    Delete(Named),
    /// Hold deliveries back; none is lost
    Pause(Named),
    /// Set a paused, failed or disabled one going again
    Resume(Named),
    /// Change the secret; the old one stays valid for a day
    RotateSecret {
        #[command(flatten)]
        named: Named,

        /// The new secret, whsec_… [default: one drawn by the gateway]
        #[arg(long)]
        secret: Option<Hidden>,
    },
    /// Send it a test event
    Test {
        #[command(flatten)]
        named: Named,

        #[command(flatten)]
        wait: WaitArgs,
    },
}

pub(crate) async fn run(
    args: WebhooksArgs,
    client: &Client,
    out: Output,
) -> Result<Ending, Failure> {
    match args.action {
        Action::List => {
            let listing = pages::all(client, &["v1", "webhooks"]).await?;
            if out.wants_json() {
                out.value(&listing)?;
            } else if listing.items.is_empty() {
                out.note("No webhook yet: postrider webhooks create --to URL");
            } else {
                out.line(show::list(listing.read()?, out))?;
            }
        }
        Action::Show(Named { id }) => print(&client.get(&["v1", "webhooks", &id]).await?, out)?,
        Action::Create(args) => {
            print(
                &client.post(&["v1", "webhooks"], &args.into_body()?).await?,
                out,
            )?;
        }
        Action::Update(args) => print(&update(*args, client).await?, out)?,
        Action::Delete(Named { id }) => {
            client.delete(&["v1", "webhooks", &id]).await?;
            out.note(format!("Deleted {id}; its open deliveries die."));
        }
        Action::Pause(Named { id }) => print(
            &client.post_empty(&["v1", "webhooks", &id, "pause"]).await?,
            out,
        )?,
        Action::Resume(Named { id }) => print(
            &client
                .post_empty(&["v1", "webhooks", &id, "resume"])
                .await?,
            out,
        )?,
        Action::RotateSecret { named, secret } => rotate(&named.id, secret, client, out).await?,
        Action::Test { named, wait } => {
            let answer = client
                .post_empty(&["v1", "webhooks", &named.id, "test"])
                .await?;
            return show_published(client, &answer.text, wait, out).await;
        }
    }
    Ok(Ending::Fine)
}

async fn update(args: UpdateArgs, client: &Client) -> Result<Answer, Failure> {
    let path = ["v1", "webhooks", &args.id.clone()];
    // Retry settings are replaced as a whole, so that changing one of them starts from what is there.
    let retry_before = if args.needs_retry_settings() {
        let webhook: Webhook = client.get(&path).await?.read()?;
        let unknown =
            || Failure::NotUnderstood("retry settings that this command does not know".to_owned());
        Some(webhook.retry_settings().ok_or_else(unknown)?)
    } else {
        None
    };
    let body = args.into_body(retry_before)?;
    if body.is_empty() {
        return Err(Failure::Input(
            "nothing to change: name at least one setting".to_owned(),
        ));
    }
    client.patch(&path, &body).await
}

async fn rotate(
    id: &str,
    secret: Option<Hidden>,
    client: &Client,
    out: Output,
) -> Result<(), Failure> {
    let path = ["v1", "webhooks", id, "rotate-secret"];
    let answer = match &secret {
        Some(secret) => {
            client
                .post(&path, &json!({ "secret": secret.expose() }))
                .await?
        }
        None => client.post_empty(&path).await?,
    };
    if out.wants_json() {
        return out.document(&answer.text);
    }
    let rotated: Rotated = answer.read()?;
    out.line(out.paint(Tone::Strong, rotated.secret.expose()))?;
    out.note(show::KEEP_THE_SECRET);
    out.note(format!(
        "The old one stays valid until {}.",
        short_time(&rotated.previous_expires_at)
    ));
    Ok(())
}

fn print(answer: &Answer, out: Output) -> Result<(), Failure> {
    if out.wants_json() {
        return out.document(&answer.text);
    }
    let webhook: Webhook = answer.read()?;
    out.line(show::one(&webhook, out))?;
    if webhook.secret.is_some() {
        out.note(show::KEEP_THE_SECRET);
    }
    Ok(())
}
