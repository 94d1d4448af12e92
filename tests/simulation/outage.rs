//! A receiver that is down for a day and then recovers: the real code of the embedded gateway with a real database, in
//! virtual time.

use std::fmt;
use std::sync::Arc;

use postrider_domain::delivery::Status;
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::{DeliveryId, TenantId};
use postrider_domain::retry::{Profile, RetrySettings};
use postrider_domain::time::{Millis, Timestamp};
use postrider_gateway::Gateway;
use postrider_gateway::settings::WorkerSettings;
use postrider_gateway::sweep::Sweep;
use postrider_gateway::worker::embedded::{EmbeddedWorker, InProcessQueue};
use postrider_ports::clock::Clock;

use super::plot::Timeline;
use super::receiver::most_in_a_second;
use super::stage::{Stage, publish, webhook};

const DAY: Millis = Millis::from_seconds(86_400);
/// How often events arrive while the receiver is down.
const BURSTS: u32 = 100;
/// Housekeeping has nothing to do while the receiver is down; running it for a day at its usual interval would only take time.
const SELDOM: Millis = Millis::from_seconds(600);
/// Long after the end of any release.
const PATIENCE: Millis = Millis::from_seconds(86_400);

/// The result.
#[derive(Clone, Debug)]
pub struct Recovery {
    /// How many deliveries waited when the webhook was resumed.
    pub waiting: usize,
    /// How many died before that, which failed the webhook.
    pub given_up: usize,
    /// How many of those that waited were delivered.
    pub delivered: usize,
    /// How many the receiver got more than once.
    pub doubled: usize,
    /// The configured rate.
    pub rate: u32,
    /// The most requests within any one second after the webhook was resumed.
    pub most_in_a_second: usize,
    /// How many requests there were in the first second after that.
    pub first_second: usize,
    /// How long the release took.
    pub took: Millis,
    timeline: Timeline,
}

struct Embedded {
    stage: Stage,
    gateway: Gateway,
    worker: Arc<EmbeddedWorker>,
    sweep: Sweep,
    poll_interval: Millis,
}

impl Embedded {
    fn start() -> Self {
        let stage = Stage::set();
        let settings = WorkerSettings::default();
        let worker = EmbeddedWorker::new(
            stage.ports.clone(),
            Arc::clone(&stage.store) as _,
            stage.dispatcher(),
            Arc::clone(&stage.webhook_cache),
            stage.store.process().to_owned(),
            &settings,
        );
        let in_process = Arc::new(InProcessQueue(Arc::clone(&worker)));
        let sweep = Sweep::new(
            stage.ports.clone(),
            Arc::clone(&stage.store) as _,
            Arc::clone(&in_process) as _,
            &settings,
        );
        Self {
            gateway: Gateway::embedded(
                stage.ports.clone(),
                Arc::clone(&stage.webhook_cache),
                in_process,
                Arc::clone(&stage.store) as _,
                Stage::limits(),
            ),
            stage,
            worker,
            sweep,
            poll_interval: settings.poll_interval,
        }
    }

    /// Lets time pass until `until`, or until no row is open: runs a cycle whenever a row is due, and housekeeping
    /// periodically.
    async fn pass(&self, until: Timestamp, sweep_every: Millis) {
        let clock = &self.stage.clock;
        let mut sweep_at = clock.now().plus(sweep_every);
        loop {
            let cycle = self.worker.cycle().await.unwrap();
            self.worker.idle().await;
            if cycle.started + cycle.ended > 0 {
                continue;
            }
            let now = clock.now();
            if now >= until {
                return;
            }
            if now >= sweep_at {
                self.sweep.turn().await;
                sweep_at = now.plus(sweep_every);
                continue;
            }
            let next = cycle.next_at.unwrap_or(until);
            clock.set(next.min(sweep_at).min(until).max(now.plus(Millis::new(1))));
        }
    }

    /// A day with a receiver that is down: one event first, which fails the webhook, then the others over time.
    async fn day_down(&self, deliveries: usize, rate: u32) -> Vec<DeliveryId> {
        let retry = RetrySettings {
            profile: Profile::PublicApi,
            ..RetrySettings::default()
        };
        let webhook = webhook(&self.gateway, rate, retry).await;
        self.stage.receiver.answer(500);
        let began = self.stage.clock.now();
        let mut ids = publish(&self.gateway, webhook, 1).await;
        for burst in 1..=BURSTS {
            let at = began.plus(Millis::new(
                DAY.get() * u64::from(burst) / u64::from(BURSTS),
            ));
            self.pass(at, SELDOM).await;
            let share = deliveries * burst as usize / BURSTS as usize;
            ids.extend(publish(&self.gateway, webhook, share + 1 - ids.len()).await);
        }
        let state = self.gateway.manage.get(&TenantId::default(), webhook).await;
        assert_eq!(state.unwrap().health.status, WebhookStatus::Failed);
        ids
    }
}

/// A receiver is down for a day while `deliveries` are put on hold; then it is healthy, and an operator resumes its webhook.
///
/// # Panics
/// When the gateway does not do its work.
pub async fn a_day_down(deliveries: usize, rate: u32) -> Recovery {
    let embedded = Embedded::start();
    let Embedded { stage, gateway, .. } = &embedded;
    let ids = embedded.day_down(deliveries, rate).await;
    let given_up = stage.count(&ids, Status::Dead).await;
    stage.receiver.take_arrivals();
    stage.receiver.answer(200);
    let from = stage.clock.now();
    let id = ids[0].webhook;
    gateway
        .manage
        .resume(&TenantId::default(), id)
        .await
        .unwrap();
    let waiting = ids.len() - given_up;
    let mut until = from;
    while stage.receiver.taken().0 < waiting && until < from.plus(PATIENCE) {
        until = until.plus(Millis::from_seconds(60));
        embedded.pass(until, embedded.poll_interval).await;
    }
    let asked = stage.receiver.take_arrivals();
    Recovery {
        waiting,
        given_up,
        delivered: stage.count(&ids, Status::Delivered).await,
        doubled: stage.receiver.taken().1,
        rate,
        most_in_a_second: most_in_a_second(&asked),
        first_second: asked.partition_point(|at| *at < from.plus(Millis::from_seconds(1))),
        took: asked.last().copied().unwrap_or(from).since(from),
        timeline: Timeline {
            from,
            asked,
            full: rate,
        },
    }
}

impl fmt::Display for Recovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} deliveries waiting after a day, {} given up before; resumed at a retry_rate of {}/s",
            self.waiting, self.given_up, self.rate
        )?;
        write!(f, "{}", self.timeline)?;
        write!(
            f,
            "  delivered {} within {}, {} doubled; {} requests in the busiest second",
            self.delivered, self.took, self.doubled, self.most_in_a_second
        )
    }
}
