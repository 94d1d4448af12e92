//! `postrider keys`: manage API keys.

use clap::{Args, Subcommand};
use postrider_api_types::key::{CreatedKey, KeyView, NewApiKey};
use postrider_api_types::{Word, flag};
use postrider_domain::key::Scope;

use crate::client::Client;
use crate::failure::{Ending, Failure};
use crate::output::{Output, Tone};
use crate::pages;
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

#[derive(Debug, Args)]
struct CreateArgs {
    /// Display name
    #[arg(long)]
    name: String,

    /// What the key may do; repeatable or comma-separated
    #[arg(long = "scope", required = true, value_delimiter = ',', value_parser = flag::named::<Scope>())]
    scopes: Vec<Scope>,

    /// Tenant the key belongs to [default: the tenant of the key used to create it]
    #[arg(long)]
    tenant: Option<String>,
}

pub(crate) async fn run(args: KeysArgs, client: &Client, out: Output) -> Result<Ending, Failure> {
    match args.action {
        Action::List => list(client, out).await?,
        Action::Create(args) => create(args, client, out).await?,
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
    for key in listing.read::<KeyView>()? {
        let created = short_time(key.created_at);
        let used = key.last_used_at.map(short_time);
        let used = used.unwrap_or_else(|| "never".to_owned());
        let scopes = scopes(&key);
        table.row(Mark::None, [key.id, key.name, scopes, created, used]);
    }
    out.line(table.show(out))
}

fn scopes(key: &KeyView) -> String {
    let scopes: Vec<&str> = key.scopes.iter().map(Word::as_str).collect();
    scopes.join(", ")
}

async fn create(args: CreateArgs, client: &Client, out: Output) -> Result<(), Failure> {
    let body = NewApiKey {
        name: args.name,
        scopes: args.scopes,
        tenant: args.tenant,
    };
    let answer = client.post(&["v1", "keys"], &body).await?;
    if out.wants_json() {
        return out.document(&answer.text);
    }
    let CreatedKey { key, token } = answer.read()?;
    out.line(facts(
        out,
        [
            ("id", Some(key.id.clone())),
            ("name", Some(key.name.clone())),
            ("scopes", Some(scopes(&key))),
            ("tenant", Some(key.tenant)),
        ],
    ))?;
    out.line(format!("\n{}\n", out.paint(Tone::Strong, token.expose())))?;
    out.note("Save the token now: the gateway stores only its hash and cannot show it again.");
    Ok(())
}
