//! `postrider listen`: a receiver to play with. It verifies, shows and answers as told.

mod receiver;
mod register;
mod show;
mod verdict;

use std::net::{Ipv4Addr, SocketAddr};

use clap::Args;
use tokio::net::TcpListener;
use url::Url;

use self::receiver::Receiver;
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
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, args.port));
    let cannot_bind = |error| Failure::Input(format!("cannot listen on {address}: {error}"));
    let listener = TcpListener::bind(address).await.map_err(cannot_bind)?;
    let url = format!("http://{}/", listener.local_addr().map_err(cannot_bind)?);

    let registration = if args.register {
        let target = args.public_url.map_or_else(|| url.clone(), String::from);
        let registration = register::register(gateway, args.name, target, args.event_types).await?;
        secrets.insert(0, registration.secret()?);
        Some(registration)
    } else {
        None
    };
    // Programs need it, too: the port may have been chosen just now.
    out.complain(format!(
        "Listening on {}",
        out.paint_error(Tone::Strong, &url)
    ));
    match &registration {
        Some(registration) => {
            out.note(format!(
                "Webhook {} brings what is sent; try: postrider send task.completed",
                registration.id()
            ));
        }
        None if secrets.is_empty() => {
            out.note("No --secret given: signatures are shown but not verified.");
        }
        None => {}
    }
    out.note("Ctrl-C ends it.\n");

    let receiver = Receiver::new(secrets, args.status, args.fail, out);
    let served = axum::serve(listener, receiver.router())
        .with_graceful_shutdown(edge::stop_signal())
        .await;
    if let Some(registration) = registration {
        registration.remove(out).await?;
    }
    served?;
    Ok(Ending::Fine)
}
