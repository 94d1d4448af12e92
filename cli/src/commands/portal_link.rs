//! `postrider portal-link`: create a link to the portal.

use clap::Args;
use postrider_api_types::flag;
use postrider_api_types::portal::{CreatedPortalLink, NewPortalLink};
use postrider_domain::key::Scope;

use crate::client::Client;
use crate::failure::{Ending, Failure};
use crate::output::Output;
use crate::when::short_time;

const AFTER_HELP: &str = "\
The link logs in once, to the portal of one tenant. Give it to the customer, or open it to see what they see.

Examples:
  postrider portal-link --tenant acme
  postrider portal-link --tenant acme --scope read --expires-in 3600
  postrider portal-link --tenant acme --return-url https://app.example.com/settings";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct PortalLinkArgs {
    /// Tenant that the customer sees
    #[arg(long)]
    tenant: String,

    /// How long the link can be opened, in seconds: 60 to 86400
    #[arg(long = "expires-in", default_value_t = 300)]
    expires_in_seconds: u32,

    /// Access of the customer
    #[arg(long = "scope", default_value = "manage", value_delimiter = ',', value_parser = flag::one_of(&[Scope::Manage, Scope::Read]))]
    scopes: Vec<Scope>,

    /// URL of the portal's Back link
    #[arg(long)]
    return_url: Option<String>,
}

pub(crate) async fn run(
    args: PortalLinkArgs,
    client: &Client,
    out: Output,
) -> Result<Ending, Failure> {
    let body = NewPortalLink {
        tenant: args.tenant,
        expires_in_seconds: args.expires_in_seconds,
        return_url: args.return_url,
        scopes: Some(args.scopes),
    };
    let answer = client.post(&["v1", "portal-links"], &body).await?;
    if out.wants_json() {
        out.document(&answer.text)?;
        return Ok(Ending::Fine);
    }
    let CreatedPortalLink { url, expires_at } = answer.read()?;
    out.line(url.expose().to_owned())?;
    out.note(format!(
        "The link works once, until {}.",
        short_time(expires_at)
    ));
    Ok(Ending::Fine)
}
