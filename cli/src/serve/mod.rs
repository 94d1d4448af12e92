//! `postrider serve`: the whole gateway in one process.

pub(crate) mod admin;
mod backups;
mod banner;
mod descriptors;
mod mail;
pub(crate) mod settings;
pub(crate) mod wiring;

use std::fmt;
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
use tracing::field::Field;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::{Writer, debug_fn};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::edge;
use crate::failure::Failure;
use crate::serve::admin::Secrets;
use crate::serve::banner::Place;
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
    #[arg(long)]
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
    settings::unknown::warn();
    start_traces(&settings)?;
    descriptors::ensure(&settings)?;
    // Before the data directory is created: a start that fails because the port is in use leaves nothing behind.
    let cannot_bind = |error| Failure::Input(edge::cannot_bind(args.listen, &error, "--listen"));
    let listener = TcpListener::bind(args.listen).await.map_err(cannot_bind)?;
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
    let (login, path) = service.one_time_login(&admin);
    let secrets = if args.print_login {
        Secrets::Shown
    } else {
        Secrets::to_a_terminal()
    };
    let stopped = crate::edge::stop_signal();
    let place = Place {
        address: listener.local_addr()?,
        data,
    };
    banner::print(&place, &admin, &path, secrets, &settings);
    service.run(listener, login, stopped).await?;
    Ok(ExitCode::SUCCESS)
}

/// Starts logging to standard error.
pub(crate) fn start_logging(settings: &Settings) -> anyhow::Result<()> {
    let filter: Targets = settings
        .log_filter
        .parse()
        .context("POSTRIDER_LOG is not a valid log filter")?;
    let filtered = tracing_subscriber::registry().with(filter);
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let started = match settings.log_format {
        LogFormat::Text if std::io::stderr().is_terminal() => {
            let lines = lines.with_ansi(wants_colour()).with_target(false);
            let short = lines.fmt_fields(debug_fn(short_field));
            filtered.with(short).try_init()
        }
        LogFormat::Text => filtered.with(lines.with_ansi(false)).try_init(),
        LogFormat::Json => filtered.with(lines.json().flatten_event(true)).try_init(),
    };
    started.map_err(|error| anyhow::anyhow!("cannot start logging: {error}"))
}

/// What `delivery.attempted` has to replay a decision and to search for. On a terminal, the sentence says enough.
const WIDE_FIELDS: &[&str] = &[
    "event",
    "webhook_id",
    "tenant",
    "event_type",
    "attempt_number",
    "elapsed_ms",
    "decision",
    "next_retry_at_ms",
    "decided_at_ms",
    "attempt_count",
    "max_attempts",
    "failure_kind",
    "phase",
    "retry_after_ms",
    "directive",
    "delays_ms",
    "max_backoff_ms",
    "jitter_bps",
    "classifier",
    "redirects",
    "retry_after",
    "on_exhausted",
    "retry_budget",
    "jitter",
];

fn short_field(to: &mut Writer<'_>, field: &Field, value: &dyn fmt::Debug) -> fmt::Result {
    match field.name() {
        "message" => write!(to, "{value:?}"),
        name if WIDE_FIELDS.contains(&name) => Ok(()),
        name => write!(to, " {name}={value:?}"),
    }
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
