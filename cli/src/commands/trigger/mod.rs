//! `postrider trigger`: send a signed sample event, as a provider would.

mod compose;
mod deliver;
mod samples;
mod target;

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;
use postrider_domain::ids::EventId;
use postrider_domain::inbound::Inbound;
use postrider_domain::scheme::Scheme;
use postrider_domain::time::Timestamp;

use self::compose::Draft;
use self::target::TargetArgs;
use super::follow::WaitArgs;
use super::input::read_file;
use super::source_secret::SecretArgs;
use crate::args::GatewayArgs;
use crate::client::Client;
use crate::edge;
use crate::failure::{Ending, Failure};
use crate::hidden::Hidden;
use crate::output::{Output, plural};
use crate::when::When;

const AFTER_HELP: &str = "\
Examples:
  postrider trigger --list                          list every scheme and its sample events
  postrider trigger github pull_request.opened      send to the only source with this scheme
  postrider trigger stripe invoice.paid --source src_… --secret-file secret.txt --wait
  postrider trigger github issues.closed --body issue.json --to http://localhost:3000/hook
  postrider trigger slack message --at 10m          send with a wrong clock

The gateway never returns a source's secret, so you are asked for it. If the sender signs with a
private key, use that key instead: for sendgrid and discord, `postrider sources create --generate`
generates a key pair; a `whsk_…` key signs as version `v1a` of standard.";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct TriggerArgs {
    /// How the sender signs
    #[arg(required_unless_present = "list", value_parser = PossibleValuesParser::new(Scheme::names()))]
    scheme: Option<String>,

    /// Event type, such as pull_request.opened [default: the scheme's first sample]
    #[arg(value_name = "TYPE")]
    event_type: Option<String>,

    /// List the sample events of all schemes, or of one
    #[arg(long)]
    list: bool,

    /// File to send instead of the sample, byte for byte; `-` is standard input
    #[arg(long, value_name = "FILE")]
    body: Option<PathBuf>,

    /// Content type of the body [default: that of the sample]
    #[arg(long, value_name = "TYPE", requires = "body")]
    content_type: Option<String>,

    /// Header to add or replace after signing; repeatable
    #[arg(long, value_name = "NAME: VALUE")]
    header: Vec<Hidden>,

    /// Delivery id of the sender; sending the same id again is a duplicate [default: a new one]
    #[arg(long)]
    id: Option<String>,

    /// Sign as of this time: RFC 3339, or how long ago, such as 10m
    #[arg(long, value_name = "TIME", default_value = "now")]
    at: When,

    /// Print the request without sending it
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    wait: WaitArgs,

    #[command(flatten)]
    target: TargetArgs,

    #[command(flatten)]
    secret: SecretArgs,
}

/// A sample event of a provider, to be signed as that provider does.
pub(crate) struct Sample<'a> {
    pub(crate) scheme: &'a str,
    pub(crate) secret: &'a str,
    pub(crate) id: &'a str,
    pub(crate) at: Timestamp,
}

/// The first sample event of a scheme, signed.
pub(crate) fn signed_sample(sample: &Sample<'_>) -> Result<Inbound, Failure> {
    let scheme = Scheme::named(sample.scheme).map_err(|error| Failure::Input(error.to_string()))?;
    compose::compose(&Draft {
        scheme: &scheme,
        event: &samples::choose(&scheme, None, None)?,
        secret: &Hidden::from(sample.secret.to_owned()),
        url: "",
        query: None,
        id: sample.id,
        at: sample.at,
        headers: &[],
    })
}

pub(crate) async fn run(
    args: TriggerArgs,
    gateway: &GatewayArgs,
    out: Output,
) -> Result<Ending, Failure> {
    let name = match args.scheme {
        Some(name) if !args.list => name,
        scheme => {
            samples::list(scheme.as_deref(), out)?;
            return Ok(Ending::Fine);
        }
    };
    let client = Client::new(gateway)?;
    let target = args.target.find(&name, &client).await?;
    let body = args.body.as_deref().map(read_file).transpose()?;
    let mut event = samples::choose(&target.scheme, args.event_type.as_deref(), body)?;
    if let Some(content_type) = args.content_type {
        event.content_type = content_type;
    }
    let prompt = format!("The sender's signing secret ({name}): ");
    let secret = args.secret.read(&prompt)?;
    let now = edge::now();
    let id = match args.id {
        Some(id) => id,
        None => EventId::new(now, &edge::entropy()?).to_string(),
    };
    let request = compose::compose(&Draft {
        scheme: &target.scheme,
        event: &event,
        secret: &secret,
        url: &target.signed_url,
        query: target.query.as_deref(),
        id: &id,
        at: args.at.resolve(now),
        headers: &args.header,
    })?;
    if args.dry_run {
        deliver::print(&request, &target, out)?;
        return Ok(Ending::Fine);
    }
    out.note(format!(
        "{name} {}, {} → {}",
        event.name,
        plural(request.body.len(), "byte"),
        target.url
    ));
    deliver::deliver(request, &target, &client, args.wait, out).await
}
