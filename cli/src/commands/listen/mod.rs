//! `postrider listen`: a receiver to play with. It verifies, shows and answers as told, or as a program behind it does.

mod answer;
mod forward;
mod receiver;
mod register;
mod show;
mod verdict;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::AtomicU32;

use clap::Args;
use http::StatusCode;
use postrider_domain::secret::SigningSecret;
use tokio::net::TcpListener;
use url::Url;

use self::answer::Unverified;
use self::forward::{Forward, destination};
use self::receiver::{Behaviour, Receiver};
use self::register::{Registration, Wanted};
use crate::args::GatewayArgs;
use crate::edge;
use crate::failure::{Ending, Failure};
use crate::hidden::Hidden;
use crate::output::{Output, Tone};

const AFTER_HELP: &str = "\
Examples:
  postrider listen --register                 make a webhook for it, remove it on Ctrl-C
  postrider listen --register --event-types 'task.*' --fail 2
  postrider listen --port 9001 --secret whsec_… --status 503
  postrider listen --register --forward-to http://localhost:3000/hook
  postrider listen --register --source src_… --intent code_review --event-types 'pull_request.*'

The gateway sends nothing to this machine unless it was started with
  POSTRIDER_EGRESS_ALLOW=127.0.0.1/32";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct ListenArgs {
    /// Port on 127.0.0.1; 0 takes a free one
    #[arg(long, default_value_t = 9000)]
    port: u16,

    /// Signing secret to verify with, whsec_…; repeat it for several
    #[arg(long, env = "POSTRIDER_SECRET", hide_env_values = true)]
    secret: Vec<Hidden>,

    /// Status to answer with
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u16).range(200..=599))]
    status: u16,

    /// Answer the first N requests with 500
    #[arg(long, value_name = "N", default_value_t = 0)]
    fail: u32,

    /// Pass each verified request on, headers and body byte for byte, and answer what comes back: a URL, or a port
    #[arg(long, value_name = "URL", value_parser = destination, conflicts_with = "status")]
    forward_to: Option<Url>,

    /// Pass on also what cannot be verified, but never what is forged
    #[arg(long, requires = "forward_to")]
    forward_unverified: bool,

    /// Make a webhook for this receiver, verify with its secret, and delete it at the end
    #[arg(long)]
    register: bool,

    /// What the webhook subscribes to
    #[arg(
        long,
        value_name = "TYPE,TYPE,…",
        value_delimiter = ',',
        default_value = "*",
        requires = "register"
    )]
    event_types: Vec<String>,

    /// Lead events of this source here, too, as long as it runs: a route for each of the event types
    #[arg(long, value_name = "ID", requires = "register")]
    source: Option<String>,

    /// The intent of what the source's routes lead here
    #[arg(long, default_value = "listen", requires = "source")]
    intent: String,

    /// What the webhook is called
    #[arg(long, default_value = "postrider listen", requires = "register")]
    name: String,

    /// Where the gateway reaches this receiver, if not at 127.0.0.1, such as the address of a tunnel
    #[arg(long, value_name = "URL", requires = "register")]
    public_url: Option<Url>,
}

pub(crate) async fn run(
    args: ListenArgs,
    gateway: &GatewayArgs,
    out: Output,
) -> Result<Ending, Failure> {
    let mut secrets = Hidden::signing_secrets(&args.secret)?;
    let behaviour = behaviour(&args, !secrets.is_empty())?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, args.port));
    let cannot_bind = |error| Failure::Input(format!("cannot listen on {address}: {error}"));
    let listener = TcpListener::bind(address).await.map_err(cannot_bind)?;
    let url = format!("http://{}/", listener.local_addr().map_err(cannot_bind)?);

    let stopped = edge::stop_signal();
    let registration = if args.register {
        let wanted = Wanted {
            name: args.name,
            target: args.public_url.map_or_else(|| url.clone(), String::from),
            event_types: args.event_types,
            source: args.source.map(|id| (id, args.intent)),
        };
        Some(register::register(gateway, wanted).await?)
    } else {
        None
    };
    let secret = registration
        .as_ref()
        .map(Registration::secret)
        .transpose()?;
    secrets.splice(0..0, secret.clone());
    notify(
        &url,
        &behaviour,
        registration.as_ref(),
        secret.as_ref(),
        out,
    );
    if secrets.is_empty() {
        out.note("No --secret given: signatures are shown but not verified.");
    }
    out.note("Ctrl-C ends it.\n");

    let receiver = Receiver {
        secrets,
        behaviour,
        failures_left: AtomicU32::new(args.fail),
        out,
    };
    let served = axum::serve(listener, receiver.router())
        .with_graceful_shutdown(stopped)
        .await;
    if let Some(registration) = registration {
        registration.remove(out).await?;
    }
    served?;
    Ok(Ending::Fine)
}

fn behaviour(args: &ListenArgs, has_secrets: bool) -> Result<Behaviour, Failure> {
    let Some(to) = args.forward_to.clone() else {
        let status = StatusCode::from_u16(args.status).unwrap_or(StatusCode::OK);
        return Ok(Behaviour::Answer(status));
    };
    let unverified = match args.forward_unverified {
        true => Unverified::Passed,
        false if has_secrets || args.register => Unverified::Withheld,
        false => {
            return Err(Failure::Input(
                "--forward-to passes on what it can verify: give --secret or --register, or say --forward-unverified"
                    .to_owned(),
            ));
        }
    };
    Ok(Behaviour::Forward(Forward::new(to)?, unverified))
}

fn notify(
    url: &str,
    behaviour: &Behaviour,
    registration: Option<&Registration>,
    secret: Option<&SigningSecret>,
    out: Output,
) {
    // Programs need it, too: the port may have been chosen just now.
    out.complain(format!(
        "Listening on {}",
        out.paint_error(Tone::Strong, url)
    ));
    if let Some(registration) = registration {
        out.note(format!(
            "Webhook {} brings what is sent; try: {}",
            registration.id(),
            registration.example()
        ));
    }
    if let Behaviour::Forward(forward, _) = behaviour {
        out.note(format!("Forwarding to {}", forward.to()));
        if let Some(secret) = secret {
            out.note(format!("Your program verifies with {}", secret.expose()));
        }
    }
}
