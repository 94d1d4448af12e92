//! `postrider dev`: store, queue and event sources for functions that run on this machine.

mod banner;
mod events;
mod function;
mod queue;
mod sources;

use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use postrider_adapter_dev::{Pass, Served};
use postrider_adapter_local::{SqliteOptions, SqliteStore};
use postrider_adapter_system::{SystemClock, SystemEntropy};
use postrider_domain::time::Millis;
use postrider_gateway::settings::{GatewaySettings, MAX_BODY_BYTES};
use postrider_gateway::webhook_cache::WebhookCache;
use postrider_gateway::{Gateway, Ports};
use postrider_ports::clock::{Clock, Entropy};
use postrider_ports::queue::Queue;
use postrider_server::ConnectionLimits;
use tokio::net::TcpListener;
use tokio::sync::watch;
use url::Url;

use self::function::Function;
use self::queue::Messages;
use crate::failure::Failure;
use crate::serve::settings::Settings;
use crate::serve::{admin, start_logging};

/// How long shutdown waits for an invocation in flight.
const FINISH_TIMEOUT: Duration = Duration::from_secs(10);

/// Becomes true on shutdown.
type Stop = watch::Receiver<bool>;

#[derive(Debug, Args)]
pub(crate) struct DevArgs {
    /// Loopback address to serve the store and queue on
    #[arg(long, default_value = "127.0.0.1:8090", value_name = "ADDRESS:PORT")]
    listen: SocketAddr,

    /// Address at which functions are invoked, such as that of cargo lambda watch or sam local start-lambda
    #[arg(long, default_value = "http://127.0.0.1:9000", value_name = "URL")]
    invoke: Url,

    /// Full Invoke API URL of the dispatcher, if it has a different name
    #[arg(long, value_name = "URL")]
    dispatcher: Option<Url>,

    /// Full Invoke API URL of the poller, if it has a different name
    #[arg(long, value_name = "URL")]
    poller: Option<Url>,

    /// How often to invoke the poller
    #[arg(long, default_value_t = 60, value_name = "SECONDS")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=3600))]
    tick_seconds: u64,
}

/// Serves the data directory to functions until Ctrl-C or SIGTERM.
pub(crate) async fn run(args: DevArgs, data: &Path) -> anyhow::Result<ExitCode> {
    if !args.listen.ip().is_loopback() {
        bail!(
            "{} is not a loopback address; secrets are sent over this connection, so it must stay on this machine",
            args.listen
        );
    }
    let settings = Settings::read(crate::edge::setting)?;
    start_logging(&settings)?;
    let dispatcher = Function::at("postrider-dispatcher", &args.invoke, args.dispatcher)?;
    let poller = Function::at("postrider-poller", &args.invoke, args.poller)?;
    let context = || format!("cannot open the data directory {}", data.display());
    let _lock = SqliteStore::lock_for_serving(data).with_context(context)?;
    let store = SqliteStore::open(data, SqliteOptions::default()).with_context(context)?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let messages = Arc::new(Messages::new(Arc::clone(&clock)));
    let served = Served {
        process: store.process().to_owned(),
        store,
        queue: Arc::clone(&messages) as _,
    };
    let token = settings.admin_token.as_deref();
    let admin = admin::ensure_key(&gateway(&served, &settings), data, token).await?;
    let listener = TcpListener::bind(args.listen).await.map_err(|error| {
        Failure::Input(crate::edge::cannot_bind(args.listen, &error, "--listen"))
    })?;
    let entropy: &dyn Entropy = &SystemEntropy;
    let pass = Pass::new(entropy.bytes());
    let dev_url = pass.url(listener.local_addr()?);
    let stop = crate::edge::stop_signal();
    banner::print(&dev_url, &admin, &args.invoke, &dispatcher, &poller);
    let router = postrider_adapter_dev::router(served, pass)?;

    let (stopping, stopped) = watch::channel(false);
    let every = Millis::from_seconds(args.tick_seconds);
    let mut running = tokio::task::JoinSet::new();
    running.spawn(sources::feed(
        messages,
        dispatcher,
        Arc::clone(&clock),
        stopped.clone(),
    ));
    running.spawn(sources::tick(poller, every, clock, stopped));
    // Functions in flight may still need the store and queue, so these are closed last.
    let stop = async {
        stop.await;
        stopping.send_replace(true);
        let all = async { while running.join_next().await.is_some() {} };
        if tokio::time::timeout(FINISH_TIMEOUT, all).await.is_err() {
            say(
                "stopped while a function was running; its deliveries continue when their leases expire",
            );
        }
    };
    postrider_server::serve(
        listener,
        router,
        ConnectionLimits::default(),
        &SystemClock,
        stop,
    )
    .await;
    Ok(ExitCode::SUCCESS)
}

/// Prints a line. A failed write is ignored.
fn say(text: impl std::fmt::Display) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// The gateway that creates the first key.
fn gateway(served: &Served, settings: &Settings) -> Gateway {
    let ports = Ports {
        store: Arc::clone(&served.store),
        clock: Arc::new(SystemClock),
        entropy: Arc::new(SystemEntropy),
    };
    let webhook_cache = Arc::new(WebhookCache::new(served.store.clone()));
    let queue: Arc<dyn Queue> = Arc::clone(&served.queue);
    let limits = GatewaySettings {
        max_body_bytes: MAX_BODY_BYTES,
        egress: settings.egress.clone(),
        retry: settings.worker.retry,
        event_validation: settings.event_validation,
    };
    Gateway::new(ports, webhook_cache, queue, limits)
}
