//! Assembles the gateway from its parts.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use axum::Extension;
use data_encoding::BASE32_NOPAD;
use postrider_adapter_http::{HttpSender, SenderSettings};
use postrider_adapter_local::{ServeLock, SqliteOptions, SqliteStore};
use postrider_adapter_system::{SystemClock, SystemEntropy};
use postrider_api::{Counters, OneTimeLogin, PageSettings, Streaming};
use postrider_domain::ids::TenantId;
use postrider_domain::time::Millis;
use postrider_domain::webhook::{MAX_TIMEOUT_SECONDS, longest_attempt};
use postrider_gateway::attempt::Attempts;
use postrider_gateway::mail::MailSender;
use postrider_gateway::receive::RejectionLog;
use postrider_gateway::settings::portal::PortalSettings;
use postrider_gateway::settings::{GatewaySettings, MAX_BODY_BYTES};
use postrider_gateway::shadow::Shadows;
use postrider_gateway::sweep::Sweep;
use postrider_gateway::webhook_cache::WebhookCache;
use postrider_gateway::worker::embedded::{EmbeddedWorker, InProcessQueue};
use postrider_gateway::{Gateway, Ports, traces};
use postrider_ports::clock::Clock;
use postrider_ports::housekeeping::Housekeeping;
use postrider_ports::notifications::NotificationListener;
use postrider_ports::queue::Queue;
use postrider_ports::rejected::BatchedRejections;
use postrider_ports::schedule::Schedule;
use postrider_ports::sender::Sender;
use postrider_ports::start_now::AcceptClaimed;
use postrider_ports::{Error, Store};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tracing::{info, warn};

use crate::serve::admin::Admin;
use crate::serve::settings::Settings;
use crate::serve::settings::backups::BackupSettings;
use crate::serve::{backups, mail};

/// How much longer than the longest attempt shutdown waits for those in flight.
const FINISH_MARGIN: Millis = Millis::from_seconds(5);

/// How long the result of a successful delivery waits for the commit of the next event, so that both cost one sync. As long as
/// events are apart at 100 per second.
const PATIENCE: Duration = Duration::from_millis(10);

/// How long shutdown waits for the last rejected requests to be stored.
const LAST_WRITE: Duration = Duration::from_secs(5);

/// How often observations are added to the histograms of `/metrics`.
const SORT_IN_EVERY: Duration = Duration::from_secs(5);

pub(crate) struct Service {
    pub(crate) gateway: Arc<Gateway>,
    shadows: Shadows,
    listening: Arc<dyn NotificationListener>,
    rejections: Arc<RejectionLog>,
    worker: Arc<EmbeddedWorker>,
    sweep: Sweep,
    mail_sender: Option<MailSender>,
    data: PathBuf,
    backups: Option<BackupSettings>,
    limits: postrider_server::ConnectionLimits,
    portal: PortalSettings,
    _lock: ServeLock,
}

/// Opens the data directory and assembles the parts. Nothing is sent yet.
pub(crate) fn assemble(data: &Path, settings: &Settings) -> anyhow::Result<Service> {
    let context = || format!("cannot open the data directory {}", data.display());
    let lock = SqliteStore::lock_for_serving(data).map_err(plainly);
    let lock = lock.with_context(context)?;
    let options = SqliteOptions {
        patience: PATIENCE,
        ..SqliteOptions::default()
    };
    let store = SqliteStore::open(data, options).map_err(plainly);
    let store = store.with_context(context)?;
    let process = store.process().to_owned();
    let listening: Arc<dyn NotificationListener> = Arc::clone(&store) as _;
    let schedule: Arc<dyn Schedule> = Arc::clone(&store) as _;
    let accepting: Arc<dyn AcceptClaimed> = Arc::clone(&store) as _;
    let housekeeping: Arc<dyn Housekeeping> = Arc::clone(&store) as _;
    let batching: Arc<dyn BatchedRejections> = Arc::clone(&store) as _;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let mail = settings.mail.as_ref();
    let mail_sender = mail.map(|mail| mail::mail_sender(mail, &store, Arc::clone(&clock)));
    let mail_sender = mail_sender.transpose()?;
    let store: Arc<dyn Store> = store;
    let ports = Ports {
        store: Arc::clone(&store),
        clock,
        entropy: Arc::new(SystemEntropy),
    };
    let sender: Arc<dyn Sender> = Arc::new(sender(settings)?);
    let webhook_cache = Arc::new(WebhookCache::new(store));
    let shadows = Shadows::new(ports.clone(), Arc::clone(&sender), settings.egress.clone());
    let attempts = Attempts::new(
        ports.clone(),
        sender,
        Arc::clone(&webhook_cache),
        settings.worker.retry,
    );
    let worker = EmbeddedWorker::new(
        ports.clone(),
        schedule,
        attempts,
        Arc::clone(&webhook_cache),
        process,
        &settings.worker,
    );
    let in_process = Arc::new(InProcessQueue(Arc::clone(&worker)));
    let queue: Arc<dyn Queue> = Arc::clone(&in_process) as _;
    let sweep = Sweep::new(
        ports.clone(),
        housekeeping,
        Arc::clone(&queue),
        &settings.worker,
    );
    let limits = GatewaySettings {
        max_body_bytes: MAX_BODY_BYTES,
        egress: settings.egress.clone(),
        retry: settings.worker.retry,
        event_validation: settings.event_validation,
    };
    let gateway = Arc::new(Gateway::embedded(
        ports,
        webhook_cache,
        in_process,
        accepting,
        limits,
    ));
    let rejections = gateway.batch_rejections(batching);
    Ok(Service {
        gateway,
        rejections,
        shadows,
        listening,
        worker,
        sweep,
        mail_sender,
        data: data.to_owned(),
        backups: settings.backups.clone(),
        limits: settings.limits,
        portal: settings.portal.clone(),
        _lock: lock,
    })
}

/// At startup, nothing suggests that the error will go away.
fn plainly(error: Error) -> anyhow::Error {
    match error {
        Error::Unavailable(reason) | Error::Broken(reason) => anyhow!(reason),
        Error::InvalidCursor => error.into(),
    }
}

fn sender(settings: &Settings) -> anyhow::Result<HttpSender> {
    let extra_roots_pem = match &settings.egress_ca_file {
        Some(file) => {
            let pem = std::fs::read(file);
            Some(pem.with_context(|| {
                format!("cannot read POSTRIDER_EGRESS_CA_FILE {}", file.display())
            })?)
        }
        None => None,
    };
    let settings = SenderSettings {
        rules: settings.egress.clone(),
        name_servers: settings.dns_servers.clone(),
        extra_roots_pem,
        max_idle_per_host: settings.worker.per_webhook,
        ..SenderSettings::default()
    };
    Ok(HttpSender::new(settings)?)
}

async fn sort_periodically(counters: Counters) {
    loop {
        crate::edge::pause(SORT_IN_EVERY).await;
        counters.sort_in();
    }
}

/// Stores the rejected requests of the last second.
async fn write_last(rejections: &RejectionLog) {
    let written = tokio::time::timeout(LAST_WRITE, rejections.write()).await;
    if !matches!(written, Ok(Ok(()))) {
        warn!(
            event = "serve.rejections_not_stored",
            "the last rejected requests could not be stored"
        );
    }
}

/// Never ends, even without a mail server.
async fn send_mail(mail_sender: Option<MailSender>) {
    match mail_sender {
        Some(mail_sender) => mail_sender.run().await,
        None => std::future::pending().await,
    }
}

impl Service {
    /// Whether any API key exists.
    pub(crate) async fn has_keys(&self) -> anyhow::Result<bool> {
        Ok(!self
            .gateway
            .keyring
            .list(&TenantId::default())
            .await?
            .is_empty())
    }

    /// Creates a one-time login, and the path that uses it.
    pub(crate) fn one_time_login(&self, admin: &Admin) -> (OneTimeLogin, String) {
        let ports = &self.gateway.ports;
        let token = BASE32_NOPAD
            .encode(&ports.entropy.bytes::<20>())
            .to_lowercase();
        let login = OneTimeLogin::new(&token, admin.digest(), ports.clock.now());
        (login, OneTimeLogin::path(&token))
    }

    /// Runs until `stop` resolves, then accepts no more requests, finishes the requests and attempts in flight, and
    /// returns. Attempts that do not finish in time are repeated at the next start.
    ///
    /// # Errors
    /// If a background task stopped unexpectedly. A process that accepts events but no longer sends is worse than none:
    /// its supervisor can restart it.
    pub(crate) async fn run(
        self,
        listener: TcpListener,
        login: OneTimeLogin,
        stop: impl Future<Output = ()>,
    ) -> anyhow::Result<()> {
        let (stopping, stopped) = watch::channel(false);
        let streaming = Streaming::Open {
            listening: self.listening,
            shutdown: stopped,
        };
        let counters = Counters::install().context("cannot start metrics")?;
        postrider_adapter_local::describe_metrics();
        backups::describe_metrics();
        let gateway = Arc::clone(&self.gateway);
        let pages = PageSettings {
            once: Some(login),
            portal: self.portal,
        };
        let router = postrider_api::router_with(gateway, self.shadows, streaming, pages)
            .merge(postrider_receiver::routes(Arc::clone(&self.gateway)))
            .layer(Extension(counters.clone()));
        let sorting = tokio::spawn(sort_periodically(counters));
        let mut sending = tokio::spawn(Arc::clone(&self.worker).run());
        let sweep = self.sweep;
        let mut sweeping = tokio::spawn(async move { sweep.run().await });
        let mut mailing = tokio::spawn(send_mail(self.mail_sender));
        let rejections = Arc::clone(&self.rejections);
        let mut counting = tokio::spawn(async move { rejections.run().await });
        let mut backing_up = tokio::spawn(backups::run(self.data, self.backups));
        let stop = async {
            let ended = tokio::select! {
                () = stop => Ok(()),
                _ = &mut sending => Err(anyhow!("the worker stopped unexpectedly")),
                _ = &mut sweeping => Err(anyhow!("the housekeeping task stopped unexpectedly")),
                _ = &mut mailing => Err(anyhow!("the mail sender stopped unexpectedly")),
                _ = &mut counting => Err(anyhow!("the task that stores rejected requests stopped unexpectedly")),
                _ = &mut backing_up => Err(anyhow!("the backup task stopped unexpectedly")),
            };
            info!(event = "serve.stopping", "stopping");
            stopping.send_replace(true);
            ended
        };
        let ended =
            postrider_server::serve(listener, router, self.limits, &SystemClock, stop).await;
        sending.abort();
        sweeping.abort();
        mailing.abort();
        backing_up.abort();
        counting.abort();
        sorting.abort();
        let longest = longest_attempt(Millis::from_seconds(MAX_TIMEOUT_SECONDS.into()));
        let finish_timeout = longest.plus(FINISH_MARGIN).into();
        if tokio::time::timeout(finish_timeout, self.worker.finish())
            .await
            .is_err()
        {
            warn!(
                event = "serve.attempts_unfinished",
                "some attempts did not finish in time; they run again at the next start"
            );
            self.worker.abandon();
        }
        write_last(&self.rejections).await;
        traces::flush().await;
        info!(event = "serve.stopped", "stopped");
        ended
    }
}
