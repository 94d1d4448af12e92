//! `postrider sources`: who may post events in, and where those go.

mod diagnose;
mod drawn;
mod routes;
mod settings;
mod show;

use clap::{Args, Subcommand};
use serde_json::json;

use self::diagnose::DiagnoseArgs;
use self::drawn::Drawn;
use self::routes::RoutesArgs;
use self::settings::{CreateArgs, SourceBody, UpdateArgs};
use super::source_secret::SecretArgs;
use crate::client::{Answer, Client, is_loopback};
use crate::failure::{Ending, Failure};
use crate::hidden::Hidden;
use crate::inbound::{RotatedSource, Routes, Source, address};
use crate::output::Output;
use crate::pages;
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
    /// The source's id, src_…
    id: String,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List them with the path that their senders post to
    List,
    /// Show one with its routes
    Show(Named),
    /// Make one; its secret is the one that its sender has, and is never shown
    #[command(after_help = routes::SYNTAX)]
    Create(Box<CreateArgs>),
    /// Change what is named, leave the rest; routes are replaced as a whole
    #[command(after_help = routes::SYNTAX)]
    Update(Box<UpdateArgs>),
    /// Remove one; what it sent stays
    Delete(Named),
    /// Change the secret; the old one stays valid for a day
    RotateSecret {
        #[command(flatten)]
        named: Named,

        #[command(flatten)]
        secret: SecretArgs,
    },
    /// See or replace where a source's events go
    Routes {
        #[command(subcommand)]
        action: RoutesAction,
    },
    /// Say why requests were refused, and what would have matched
    Diagnose(DiagnoseArgs),
}

#[derive(Debug, Subcommand)]
enum RoutesAction {
    /// Show them in order
    Get(Named),
    /// Replace them all
    #[command(after_help = routes::SYNTAX)]
    Set {
        #[command(flatten)]
        named: Named,

        #[command(flatten)]
        routes: RoutesArgs,

        /// Leave the source without routes: what it sends is stored and goes nowhere
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
            out.note(format!("Deleted {id}; what it sent stays."));
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
        out.note("No source yet: postrider sources create --scheme SCHEME");
        return Ok(());
    }
    out.line(show::list(listing.read()?, out))
}

async fn create(args: CreateArgs, client: &Client, out: Output) -> Result<(), Failure> {
    let base = args.public_base.clone();
    let (body, drawn) = args.into_body()?;
    let mut answer = client.post(&["v1", "sources"], &body).await?;
    if let Some(base) = base {
        let Source { id, url, .. } = &answer.read()?;
        let body = SourceBody::public_url(address(&base, url));
        answer = client.patch(&["v1", "sources", id], &body).await?;
    }
    if out.wants_json() {
        return match drawn {
            Some(drawn) => out.value(&with_drawn(&answer, &drawn)?),
            None => out.document(&answer.text),
        };
    }
    let source: Source = answer.read()?;
    out.line(show::one(&source, client.base(), out))?;
    if let Some(drawn) = &drawn {
        out.line(format!("\n{}", show::drawn(drawn, out)))?;
        out.note(show::KEEP_IT);
    }
    out.note(show::next_steps(&source, is_loopback(client.base())));
    Ok(())
}

/// The document with what was drawn here, because nobody else knows it.
fn with_drawn(answer: &Answer, drawn: &Drawn) -> Result<serde_json::Value, Failure> {
    let mut document: serde_json::Map<String, serde_json::Value> = answer.read()?;
    document.insert("secret".to_owned(), drawn.secret.expose().into());
    let private_key = drawn.private_key.as_ref().map(Hidden::expose);
    document.insert("private_key".to_owned(), private_key.into());
    Ok(document.into())
}

async fn rotate(id: &str, secret: SecretArgs, client: &Client, out: Output) -> Result<(), Failure> {
    let secret = secret.read("What does the sender sign with from now on? ")?;
    let path = ["v1", "sources", id, "rotate-secret"];
    let answer = client
        .post(&path, &json!({ "secret": secret.expose() }))
        .await?;
    if out.wants_json() {
        return out.document(&answer.text);
    }
    let rotated: RotatedSource = answer.read()?;
    let until = short_time(&rotated.previous_expires_at);
    out.note(format!(
        "Replaced. The old one stays valid until {until}: give the sender the new one before."
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
                Failure::Input(
                    "no routes: name them with --route or --routes-file, or say --none".to_owned(),
                )
            })?;
            let path = ["v1", "sources", &named.id, "routes"];
            client.put(&path, &Routes { routes }).await?
        }
    };
    if out.wants_json() {
        return out.document(&answer.text);
    }
    let Routes { routes } = answer.read()?;
    if routes.is_empty() {
        out.note("No routes: what the source sends is stored and goes nowhere.");
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
