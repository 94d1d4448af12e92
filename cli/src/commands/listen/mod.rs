//! `postrider listen`: a test receiver that verifies and shows requests, and answers them itself or forwards them.

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
  postrider listen --register                 create a webhook, delete it on Ctrl-C
  postrider listen --register --event-types 'task.*' --fail 2
  postrider listen --port 9001 --secret whsec_… --status 503
  postrider listen --register --forward-to http://localhost:3000/hook
  postrider listen --register --source src_… --intent code_review --event-types 'pull_request.*'

By default, the gateway does not send to this machine. To allow it, start it with
  POSTRIDER_EGRESS_ALLOW=127.0.0.1/32";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct ListenArgs {
    /// Port on 127.0.0.1; 0 picks a free one
    #[arg(long, default_value_t = 9000)]
    port: u16,

    /// Signing secret to verify with, whsec_…; repeatable
    #[arg(long, env = "POSTRIDER_SECRET", hide_env_values = true)]
    secret: Vec<Hidden>,

    /// HTTP status to answer with
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u16).range(200..=599))]
    status: u16,

    /// Answer the first N requests with 500
    #[arg(long, value_name = "N", default_value_t = 0)]
    fail: u32,

    /// URL or port to forward verified requests to, byte for byte; its response is returned
    #[arg(long, value_name = "URL", value_parser = destination, conflicts_with = "status")]
    forward_to: Option<Url>,

    /// Also forward requests that cannot be verified; forged ones never are
    #[arg(long, requires = "forward_to")]
    forward_unverified: bool,

    /// Create a webhook for this receiver, verify with its secret, and delete it at the end
    #[arg(long)]
    register: bool,

    /// Event types or patterns to subscribe to
    #[arg(
        long,
        value_name = "TYPE,TYPE,…",
        value_delimiter = ',',
        default_value = "*",
        requires = "register"
    )]
    event_types: Vec<String>,

    /// Also route this source's events here while it runs, with one route per event type
    #[arg(long, value_name = "ID", requires = "register")]
    source: Option<String>,

    /// Intent of the routes from the source
    #[arg(long, default_value = "listen", requires = "source")]
    intent: String,

    /// Name of the webhook
    #[arg(long, default_value = "postrider listen", requires = "register")]
    name: String,

    /// URL at which the gateway reaches this receiver, such as that of a tunnel [default: 127.0.0.1]
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
    let cannot_bind = |error| Failure::Input(edge::cannot_bind(address, &error, "--port"));
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
    let secret = registration.as_ref().map(Registration::secret).cloned();
    secrets.splice(0..0, secret.clone());
    print_start(
        &url,
        &behaviour,
        registration.as_ref(),
        secret.as_ref(),
        out,
    );
    if secrets.is_empty() {
        out.note("Signatures are not verified, because no --secret is set.");
    }
    out.note("Press Ctrl-C to stop.\n");

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
        true => Unverified::Forwarded,
        false if has_secrets || args.register => Unverified::Withheld,
        false => {
            return Err(Failure::Input(
                "--forward-to forwards verified requests: set --secret or --register, or use --forward-unverified"
                    .to_owned(),
            ));
        }
    };
    Ok(Behaviour::Forward(Forward::new(to)?, unverified))
}

fn print_start(
    url: &str,
    behaviour: &Behaviour,
    registration: Option<&Registration>,
    secret: Option<&SigningSecret>,
    out: Output,
) {
    // Also with --json: the port may have been picked just now.
    out.complain(format!(
        "Listening on {}",
        out.paint_error(Tone::Strong, url)
    ));
    if let Some(registration) = registration {
        out.note(format!(
            "Registered as webhook {}. Try: {}",
            registration.id(),
            registration.example()
        ));
    }
    if let Behaviour::Forward(forward, _) = behaviour {
        out.note(format!("Forwarding to {}", forward.to()));
        if let Some(secret) = secret {
            out.note(format!(
                "Signing secret for your program: {}",
                secret.expose()
            ));
        }
    }
}
