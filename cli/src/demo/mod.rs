//! `postrider demo`: a gateway with receivers and traffic, in one process and a temporary directory.

mod receivers;
mod scene;
mod traffic;

use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use postrider_gateway::settings::shared::{EGRESS_ALLOW, LOG};
use tokio::net::TcpListener;

use crate::edge;
use crate::serve::admin::{self, Admin};
use crate::serve::settings::Settings;
use crate::serve::settings::declared::LISTEN;
use crate::serve::{start_logging, wiring};

const AFTER_HELP: &str = "\
Everything runs on 127.0.0.1 and in a temporary directory. Ctrl-C stops it and leaves nothing behind.";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct DemoArgs {
    /// Address to listen on [default: 127.0.0.1:8080, or a free port if that is in use]
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,

    /// Events per second
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=100))]
    rate: u32,
}

pub(crate) async fn run(args: DemoArgs) -> anyhow::Result<ExitCode> {
    let settings = Settings::read(|name| setting(name).map(str::to_owned))?;
    start_logging(&settings)?;
    let directory = tempfile::Builder::new().prefix("postrider-demo-").tempdir();
    let directory = directory.context("cannot create a temporary directory")?;
    let listener = bind(args.listen).await?;
    let address = listener.local_addr()?;
    let receivers = receivers::start().await?;
    let service = wiring::assemble(directory.path(), &settings)?;
    let admin = admin::ensure_key(&service.gateway, directory.path(), None).await?;
    let Admin::Generated { token, .. } = &admin else {
        anyhow::bail!("the temporary directory already holds a key");
    };
    let (login, path) = service.one_time_login(&admin);
    let stop = edge::stop_signal();
    print(address, &path, token, &directory);
    let gateway = scene::Gateway::new(address, token)?;
    let playing = tokio::spawn(traffic::play(gateway, receivers, args.rate)).abort_handle();
    let stopped = async {
        stop.await;
        playing.abort();
    };
    let ended = service.run(listener, login, stopped).await;
    ended?;
    directory
        .close()
        .context("cannot remove the temporary directory")?;
    println!("\nStopped. Nothing is left behind. To keep what you publish: postrider serve");
    Ok(ExitCode::SUCCESS)
}

/// The environment of the shell does not apply: a demo never sends to real receivers.
fn setting(name: &str) -> Option<&'static str> {
    match name {
        name if name == EGRESS_ALLOW.name => Some("127.0.0.1/32"),
        // Failing receivers are part of the demo, and what happens is in the Inspector.
        name if name == LOG.name => Some("error"),
        _ => None,
    }
}

async fn bind(wanted: Option<SocketAddr>) -> anyhow::Result<TcpListener> {
    let free = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    match wanted {
        Some(address) if !address.ip().is_loopback() => {
            anyhow::bail!(
                "--listen must be a loopback address: everyone who reaches the demo may use it"
            )
        }
        Some(address) => {
            let bound = TcpListener::bind(address).await;
            bound.map_err(|error| anyhow::anyhow!(edge::cannot_bind(address, &error, "--listen")))
        }
        None => match TcpListener::bind(LISTEN.values.default).await {
            Ok(listener) => Ok(listener),
            Err(_) => Ok(TcpListener::bind(free).await?),
        },
    }
}

fn print(address: SocketAddr, login: &str, token: &str, directory: &tempfile::TempDir) {
    let program = edge::program();
    let data = directory.path().display();
    println!("Postrider demo: a gateway, six receivers and traffic on this machine.\n");
    println!("  Inspector  http://{address}{login}");
    println!("             (logs in once; later use the key {token})\n");
    println!("Watch it in another terminal:\n");
    println!("  {program} top --url http://{address} --data {data}");
    println!("  {program} deliveries list --status dead --url http://{address} --data {data}\n");
    println!("Ctrl-C stops it and leaves nothing behind.");
}
