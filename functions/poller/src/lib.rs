//! Sends queue messages for due rows, every minute, and does a slice of the remaining work.

use std::sync::Arc;

use lambda_runtime::{Error, LambdaEvent};
use postrider_domain::time::{Millis, Timestamp};
use postrider_gateway::chores::Chores;
use postrider_gateway::poll::backlogs::{Backlogs, BacklogsSeen};
use postrider_gateway::poll::sweeps::Sweeps;
use postrider_gateway::poll::{Ended, Poll, Ticked};
use postrider_ports::Store;
use postrider_ports::clock::Clock;
use postrider_ports::watch::PeriodSweep;
use postrider_wiring::Parts;
use postrider_wiring::metrics::{self, Metric, Unit};
use serde_json::{Value, json};
use tokio::{join, select};
use tracing::warn;

/// How long before its deadline the function stops everything, to leave time for the report.
const END_BEFORE: Millis = Millis::from_seconds(2);

/// How often failed webhooks are counted.
const COUNT_EVERY_MINUTES: i64 = 5;

pub struct Poller {
    poll: Poll,
    backlogs: Backlogs,
    chores: Chores,
    sweeps: Option<Sweeps>,
    webhooks: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    gateway: String,
}

impl Poller {
    /// A poller of the named gateway that sends another message for rows overdue by more than `grace`.
    #[must_use]
    pub fn new(parts: Parts, grace: Millis, gateway: String) -> Self {
        let Parts {
            ports,
            queue,
            sweeps,
            ..
        } = parts;
        let clock = Arc::clone(&ports.clock);
        let webhooks = Arc::clone(&ports.store);
        let backlog = Arc::clone(&ports.store);
        Self {
            poll: Poll::new(backlog, Arc::clone(&queue), Arc::clone(&clock), grace),
            backlogs: Backlogs::new(
                Arc::clone(&ports.store) as _,
                Arc::clone(&queue),
                Arc::clone(&clock),
            ),
            chores: Chores::new(ports, queue),
            sweeps: sweeps.map(|store| Sweeps::new(store, Arc::clone(&clock))),
            webhooks,
            clock,
            gateway,
        }
    }

    /// Runs one tick and returns its result. If the event asks for a sweep, starts it instead, and returns how far it has come.
    ///
    /// # Errors
    /// If the period of a sweep is not valid, or something failed, so that it counts as an error of the function. The next
    /// tick finds what this one missed.
    pub async fn handle(&self, event: LambdaEvent<Value>) -> Result<Value, Error> {
        let now = self.clock.now();
        let deadline = postrider_wiring::deadline(&event.context, now);
        let minute = scheduled_at(&event.payload);
        let until = deadline.minus(END_BEFORE);
        if let Some(period) = event.payload.get("sweep") {
            return self.start_sweep(period, until).await;
        }
        // At the same time: each has the whole tick, and none can use up the time of another.
        let watch = async {
            let (ticked, seen, failed_webhooks) = join!(
                self.poll.tick(minute, deadline),
                self.backlogs.look(until),
                self.failed_webhooks(minute.unwrap_or(now), until),
            );
            self.report(&ticked, &seen, failed_webhooks);
            ticked
        };
        let (ticked, (), _) = join!(
            watch,
            self.chores.turn_until(until),
            self.carry_on_sweep(until),
        );
        match ticked.ended {
            Ended::Complete | Ended::OutOfTime => Ok(json!({
                "messages_sent": ticked.messages_sent,
                "oldest_due_age_seconds": seconds(ticked.oldest_due_age),
            })),
            Ended::Failed => Err("the tick failed in part; see the log for the reason".into()),
        }
    }

    async fn start_sweep(&self, period: &Value, until: Timestamp) -> Result<Value, Error> {
        let Some(sweeps) = &self.sweeps else {
            return Err("this store has no rows to sweep".into());
        };
        let (from, to) = (instant(period, "from")?, instant(period, "to")?);
        if from >= to {
            return Err(
                "the sweep must begin before it ends: set `from` to an earlier time than `to`"
                    .into(),
            );
        }
        sweeps.start(from, to).await?;
        let swept = self.carry_on_sweep(until).await;
        let swept = swept.ok_or(
            "the sweep was stored, and the next tick goes on with it; see the log for the reason",
        )?;
        Ok(json!({
            "from": swept.from.to_string(),
            "to": swept.to.to_string(),
            "ended": swept.ended_at.is_some(),
            "tenant": swept.tenant,
            "rows": swept.rows,
            "recovered": swept.recovered,
        }))
    }

    async fn carry_on_sweep(&self, until: Timestamp) -> Option<PeriodSweep> {
        let sweeps = self.sweeps.as_ref()?;
        let swept = sweeps.carry_on(until).await?;
        let recovered = [Metric::of("swept_rows", Unit::Count, swept.recovered)];
        if let Err(reason) = metrics::emit(&self.gateway, self.clock.now(), &recovered) {
            warn!(event = "poll.metrics_failed", %reason, "the metrics of the tick could not be written");
        }
        Some(swept)
    }

    /// How many webhooks are failed, every fifth minute: it costs a read per webhook.
    async fn failed_webhooks(&self, minute: Timestamp, until: Timestamp) -> Option<u64> {
        if minute.as_seconds() / 60 % COUNT_EVERY_MINUTES != 0 {
            return None;
        }
        let counted = select! {
            biased;
            counted = self.webhooks.failed_webhooks() => counted,
            () = self.clock.sleep_until(until) => {
                Err(postrider_ports::Error::Unavailable("the tick ran out of time".to_owned()))
            }
        };
        counted
            .inspect_err(|reason| {
                warn!(event = "poll.count_failed", %reason, "the failed webhooks could not be counted");
            })
            .ok()
    }

    fn report(&self, ticked: &Ticked, seen: &BacklogsSeen, failed_webhooks: Option<u64>) {
        let count = |name, value| Metric::of(name, Unit::Count, value);
        let late = seconds(ticked.oldest_due_age);
        let mut key_stats = vec![
            Metric::of("oldest_due_age_seconds", Unit::Seconds, late),
            count("hints_sent", ticked.messages_sent as u64),
            count("hints_failed", ticked.messages_failed as u64),
            count("backlogs", seen.backlogs as u64),
            count("drains_sent", seen.drains_sent as u64),
        ];
        // An unfinished look reports nothing, so that the alarm on missing data notices.
        if seen.is_complete {
            let age = seconds(seen.oldest_due_age);
            key_stats.push(Metric::of("oldest_backlog_age_seconds", Unit::Seconds, age));
        }
        key_stats.extend(ticked.queue_depth.map(|depth| count("queue_depth", depth)));
        key_stats.extend(failed_webhooks.map(Metric::failed_webhooks));
        if let Err(reason) = metrics::emit(&self.gateway, self.clock.now(), &key_stats) {
            warn!(event = "poll.metrics_failed", %reason, "the metrics of the tick could not be written");
        }
    }
}

/// A time of a sweep's period.
fn instant(period: &Value, name: &str) -> Result<Timestamp, Error> {
    let text = period.get(name).and_then(Value::as_str);
    let at = text.and_then(|text| Timestamp::parse_rfc3339(text).ok());
    at.ok_or_else(|| format!("`sweep.{name}` must be a time such as 2026-02-21T10:00:00Z").into())
}

const fn seconds(span: Millis) -> u64 {
    span.get() / 1000
}

/// The time that the schedule names in its event; a manual tick does not have to name one.
fn scheduled_at(event: &Value) -> Option<Timestamp> {
    Timestamp::parse_rfc3339(event.get("time")?.as_str()?).ok()
}
