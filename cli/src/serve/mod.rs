//! `postrider serve`: the whole gateway in one process.

pub(crate) mod admin;
mod banner;
mod descriptors;
mod mail;
pub(crate) mod server;
pub(crate) mod settings;
mod wiring;

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, bail};
use clap::Args;
use postrider_adapter_otlp::OtlpTraces;
use postrider_gateway::traces;
use tokio::net::TcpListener;
use tracing_subscriber::EnvFilter;

use crate::serve::admin::Secrets;
use crate::serve::settings::declared::LISTEN;
use crate::serve::settings::{LogFormat, Settings};

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Address to listen on
    #[arg(
        long = LISTEN.values.flag,
        env = LISTEN.name,
        default_value = LISTEN.values.default,
        value_name = "ADDRESS:PORT"
    )]
    listen: SocketAddr,

    /// Print a new key and the login link even if standard output is not a terminal
    #[arg(long)]
    print_login: bool,

    /// Print the documentation of all settings and exit
    #[arg(long, hide = true)]
    print_configuration: bool,
}

/// Runs the gateway on the data directory until Ctrl-C or SIGTERM.
pub(crate) async fn run(args: ServeArgs, data: &Path) -> anyhow::Result<ExitCode> {
    if args.print_configuration {
        print!("{}", settings::table::page());
        return Ok(ExitCode::SUCCESS);
    }
    let settings = Settings::read(crate::edge::setting)?;
    start_logging(&settings)?;
    start_traces(&settings)?;
    descriptors::ensure(&settings)?;
    let service = wiring::assemble(data, &settings)?;
    let has_keys = service.has_keys().await?;
    if !args.listen.ip().is_loopback() && settings.admin_token.is_none() && !has_keys {
        bail!(
            "{} is reachable from other machines, but no key exists yet: \
             set POSTRIDER_ADMIN_TOKEN, or start once on 127.0.0.1",
            args.listen
        );
    }
    let token = settings.admin_token.as_deref();
    let admin = admin::ensure_key(&service.gateway, data, token).await?;
    let listener = TcpListener::bind(args.listen)
        .await
        .with_context(|| format!("cannot listen on {}", args.listen))?;
    let (login, path) = service.one_time_login(&admin);
    let secrets = if args.print_login {
        Secrets::Shown
    } else {
        Secrets::to_a_terminal()
    };
    let stopped = crate::edge::stop_signal();
    banner::print(listener.local_addr()?, &admin, &path, secrets, &settings);
    service.run(listener, login, stopped).await?;
    Ok(ExitCode::SUCCESS)
}

/// Starts logging to standard error.
pub(crate) fn start_logging(settings: &Settings) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(&settings.log_filter)
        .context("POSTRIDER_LOG is not a valid tracing filter")?;
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    let started = match settings.log_format {
        LogFormat::Text => lines.with_ansi(wants_colour()).try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    };
    started.map_err(|error| anyhow::anyhow!("cannot start logging: {error}"))
}

fn start_traces(settings: &Settings) -> anyhow::Result<()> {
    if let Some(settings) = &settings.traces {
        traces::install(Arc::new(OtlpTraces::new(settings)?));
    }
    Ok(())
}

fn wants_colour() -> bool {
    std::io::stderr().is_terminal() && !crate::edge::asks_for_plain_text()
}
