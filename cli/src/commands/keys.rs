//! `postrider keys`: manage API keys.

use clap::{Args, Subcommand};
use http::Method;
use postrider_api_types::key::{CreatedKey, KeyView, NewApiKey};
use postrider_api_types::{Word, flag};
use postrider_domain::key::Scope;

use crate::client::Client;
use crate::failure::{Ending, Failure};
use crate::output::{Output, Tone};
use crate::pages::Listing;
use crate::table::{Mark, Table, facts};
use crate::when::short_time;

const AFTER_HELP: &str = "\
Examples:
  postrider keys create --name ci --scope publish
  postrider keys create --name dashboard --scope read --scope publish
  postrider keys list
  postrider keys list --tenant acme
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
    List(Whose),
    /// Create a key; its token is shown only once
    Create(CreateArgs),
    /// Revoke a key; it is no longer accepted
    Revoke {
        /// Key id, key_…
        id: String,

        #[command(flatten)]
        whose: Whose,
    },
}

#[derive(Debug, Args)]
struct Whose {
    /// Tenant whose keys to use [default: the tenant of the key used]
    #[arg(long)]
    tenant: Option<String>,
}

impl Whose {
    fn query(&self) -> Vec<(&str, &str)> {
        let tenant = self.tenant.as_deref();
        tenant
            .map(|tenant| ("tenant", tenant))
            .into_iter()
            .collect()
    }
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
        Action::List(whose) => list(&whose, client, out).await?,
        Action::Create(args) => create(args, client, out).await?,
        Action::Revoke { id, whose } => {
            let request = client.request(Method::DELETE, &["v1", "keys", &id])?;
            client.send(request.query(&whose.query())).await?;
            out.note(format!("Revoked {id}."));
        }
    }
    Ok(Ending::Fine)
}

async fn list(whose: &Whose, client: &Client, out: Output) -> Result<(), Failure> {
    let request = client.request(Method::GET, &["v1", "keys"])?;
    let listing: Listing = client.send(request.query(&whose.query())).await?.read()?;
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
