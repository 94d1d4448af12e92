//! `postrider sources`: manage sources of inbound webhooks.

mod diagnose;
mod generated;
mod routes;
mod settings;
mod show;

use clap::{Args, Subcommand};
use postrider_api_types::source::{
    NewRoutes, RotatedSourceSecretView, RouteList, SourceRotation, SourceView,
};

use self::diagnose::DiagnoseArgs;
use self::generated::Generated;
use self::routes::RoutesArgs;
use self::settings::{CreateArgs, SourceBody, UpdateArgs};
use super::source_secret::SecretArgs;
use crate::client::{Answer, Client, is_loopback};
use crate::failure::{Ending, Failure};
use crate::hidden::Hidden;
use crate::output::Output;
use crate::pages;
use crate::views::address;
use crate::when::short_time;

const AFTER_HELP: &str = "\
Examples:
  postrider sources create --scheme github --secret-file secret.txt \\
      --route 'pull_request.*=code_review:reviewer-cluster->wh_…'
  postrider sources create --scheme twilio --public-base https://hooks.example.com
  postrider sources create --scheme custom --custom scheme.json --generate
  postrider sources rotate-secret src_… --secret-file -
  postrider sources diagnose src_…";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct SourcesArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Args)]
struct Named {
    /// Source id, src_…
    id: String,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List sources with the path that their senders post to
    List,
    /// Show a source with its routes
    Show(Named),
    /// Create a source; its secret is shared with the sender and never shown
    #[command(after_help = routes::SYNTAX)]
    Create(Box<CreateArgs>),
    /// Change the given settings of a source; routes are replaced as a whole
    #[command(after_help = routes::SYNTAX)]
    Update(Box<UpdateArgs>),
    /// Delete a source; its events are not deleted
    Delete(Named),
    /// Rotate the secret; the previous one stays valid for 24 h
    RotateSecret {
        #[command(flatten)]
        named: Named,

        #[command(flatten)]
        secret: SecretArgs,
    },
    /// Show or replace the routes of a source
    Routes {
        #[command(subcommand)]
        action: RoutesAction,
    },
    /// Explain why requests were rejected, and what would have matched
    Diagnose(DiagnoseArgs),
}

#[derive(Debug, Subcommand)]
enum RoutesAction {
    /// Show the routes in order
    Get(Named),
    /// Replace all routes
    #[command(after_help = routes::SYNTAX)]
    Set {
        #[command(flatten)]
        named: Named,

        #[command(flatten)]
        routes: RoutesArgs,

        /// Remove all routes: events are stored but not sent
        #[arg(long, conflicts_with_all = ["routes", "routes_file"])]
        none: bool,
    },
}

pub(crate) async fn run(
    args: SourcesArgs,
    client: &Client,
    out: Output,
) -> Result<Ending, Failure> {
    match args.action {
        Action::List => list(client, out).await?,
        Action::Show(Named { id }) => {
            print(&client.get(&["v1", "sources", &id]).await?, client, out)?;
        }
        Action::Create(args) => create(*args, client, out).await?,
        Action::Update(args) => {
            let path = ["v1", "sources", &args.id.clone()];
            print(&client.patch(&path, &args.into_body()?).await?, client, out)?;
        }
        Action::Delete(Named { id }) => {
            client.delete(&["v1", "sources", &id]).await?;
            out.note(format!("Deleted {id}. Its events are not deleted."));
        }
        Action::RotateSecret { named, secret } => rotate(&named.id, secret, client, out).await?,
        Action::Routes { action } => change_routes(action, client, out).await?,
        Action::Diagnose(args) => return diagnose::run(args, client, out).await,
    }
    Ok(Ending::Fine)
}

async fn list(client: &Client, out: Output) -> Result<(), Failure> {
    let listing = pages::all(client, &["v1", "sources"]).await?;
    if out.wants_json() {
        return out.value(&listing);
    }
    if listing.items.is_empty() {
        out.note("No sources yet. Create one: postrider sources create --scheme SCHEME");
        return Ok(());
    }
    out.line(show::list(listing.read()?, out))
}

async fn create(args: CreateArgs, client: &Client, out: Output) -> Result<(), Failure> {
    let base = args.public_base.clone();
    let (body, generated) = args.into_body()?;
    let mut answer = client.post(&["v1", "sources"], &body).await?;
    if let Some(base) = base {
        let SourceView { id, url, .. } = &answer.read()?;
        let body = SourceBody::public_url(address(&base, url));
        answer = client.patch(&["v1", "sources", id], &body).await?;
    }
    if out.wants_json() {
        return match generated {
            Some(generated) => out.value(&with_generated(&answer, &generated)?),
            None => out.document(&answer.text),
        };
    }
    let source: SourceView = answer.read()?;
    out.line(show::one(&source, client.base(), out))?;
    if let Some(generated) = &generated {
        out.line(format!("\n{}", show::generated(generated, out)))?;
        out.note(show::SAVE_IT);
    }
    out.note(show::next_steps(&source, is_loopback(client.base())));
    Ok(())
}

/// Adds the generated secret to the document, because it is not shown again.
fn with_generated(answer: &Answer, generated: &Generated) -> Result<serde_json::Value, Failure> {
    let mut document: serde_json::Map<String, serde_json::Value> = answer.read()?;
    document.insert("secret".to_owned(), generated.secret.expose().into());
    let private_key = generated.private_key.as_ref().map(Hidden::expose);
    document.insert("private_key".to_owned(), private_key.into());
    Ok(document.into())
}

async fn rotate(id: &str, secret: SecretArgs, client: &Client, out: Output) -> Result<(), Failure> {
    let secret = secret.read("The sender's new signing secret: ")?;
    let path = ["v1", "sources", id, "rotate-secret"];
    let answer = client
        .post(
            &path,
            &SourceRotation {
                secret: secret.expose().to_owned(),
            },
        )
        .await?;
    if out.wants_json() {
        return out.document(&answer.text);
    }
    let rotated: RotatedSourceSecretView = answer.read()?;
    let until = short_time(rotated.previous_expires_at);
    out.note(format!(
        "Rotated. The previous secret stays valid until {until}; give the new one to the sender before then."
    ));
    Ok(())
}

async fn change_routes(action: RoutesAction, client: &Client, out: Output) -> Result<(), Failure> {
    let answer = match action {
        RoutesAction::Get(Named { id }) => client.get(&["v1", "sources", &id, "routes"]).await?,
        RoutesAction::Set {
            named,
            routes,
            none,
        } => {
            let routes = routes.read()?.or_else(|| none.then(Vec::new));
            let routes = routes.ok_or_else(|| {
                Failure::Input("no routes: set --route or --routes-file, or use --none".to_owned())
            })?;
            let path = ["v1", "sources", &named.id, "routes"];
            client.put(&path, &NewRoutes { routes }).await?
        }
    };
    if out.wants_json() {
        return out.document(&answer.text);
    }
    let RouteList { routes } = answer.read()?;
    if routes.is_empty() {
        out.note("No routes. Events of this source are stored but not sent.");
        return Ok(());
    }
    out.line(show::routes(&routes, out))
}

fn print(answer: &Answer, client: &Client, out: Output) -> Result<(), Failure> {
    if out.wants_json() {
        return out.document(&answer.text);
    }
    out.line(show::one(&answer.read()?, client.base(), out))
}
