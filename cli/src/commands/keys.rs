//! `postrider keys`: manage API keys.

use clap::{Args, Subcommand};
use postrider_domain::key::Scope;
use serde::Serialize;

use crate::client::Client;
use crate::failure::{Ending, Failure};
use crate::output::{Output, Tone};
use crate::pages;
use crate::shapes::Key;
use crate::table::{Mark, Table, facts};
use crate::when::short_time;

const AFTER_HELP: &str = "\
Examples:
  postrider keys create --name ci --scope publish
  postrider keys create --name dashboard --scope read --scope publish
  postrider keys list
  postrider keys revoke key_…";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct KeysArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List keys, without their tokens
    List,
    /// Create a key; its token is shown only once
    Create(CreateArgs),
    /// Revoke a key; it is no longer accepted
    Revoke {
        /// Key id, key_…
        id: String,
    },
}

#[derive(Debug, Args, Serialize)]
struct CreateArgs {
    /// Display name
    #[arg(long)]
    name: String,

    /// What the key may do; repeatable or comma-separated
    #[arg(long = "scope", required = true, value_delimiter = ',', value_parser = Scope::ALL.map(Scope::as_str))]
    scopes: Vec<String>,

    /// Tenant the key belongs to [default: the tenant of the key used to create it]
    #[arg(long)]
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<String>,
}

pub(crate) async fn run(args: KeysArgs, client: &Client, out: Output) -> Result<Ending, Failure> {
    match args.action {
        Action::List => list(client, out).await?,
        Action::Create(args) => create(&args, client, out).await?,
        Action::Revoke { id } => {
            client.delete(&["v1", "keys", &id]).await?;
            out.note(format!("Revoked {id}."));
        }
    }
    Ok(Ending::Fine)
}

async fn list(client: &Client, out: Output) -> Result<(), Failure> {
    let listing = pages::all(client, &["v1", "keys"]).await?;
    if out.wants_json() {
        return out.value(&listing);
    }
    let mut table = Table::new(["ID", "NAME", "SCOPES", "CREATED", "LAST USED"]);
    for key in listing.read::<Key>()? {
        let time = |at: Option<String>, none: &str| {
            at.map_or_else(|| none.to_owned(), |at| short_time(&at))
        };
        let (created, used) = (time(key.created_at, ""), time(key.last_used_at, "never"));
        table.row(
            Mark::None,
            [key.id, key.name, key.scopes.join(", "), created, used],
        );
    }
    out.line(table.show(out))
}

async fn create(args: &CreateArgs, client: &Client, out: Output) -> Result<(), Failure> {
    let answer = client.post(&["v1", "keys"], args).await?;
    if out.wants_json() {
        return out.document(&answer.text);
    }
    let key: Key = answer.read()?;
    let token = key
        .token
        .as_ref()
        .map(|token| out.paint(Tone::Strong, token.expose()));
    out.line(facts(
        out,
        [
            ("id", Some(key.id)),
            ("name", Some(key.name)),
            ("scopes", Some(key.scopes.join(", "))),
            ("tenant", key.tenant),
        ],
    ))?;
    if let Some(token) = token {
        out.line(format!("\n{token}\n"))?;
        out.note("Save the token now: the gateway stores only its hash and cannot show it again.");
    }
    Ok(())
}
