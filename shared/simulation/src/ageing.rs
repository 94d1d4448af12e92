//! What follows when all has come to rest: months, in which rows and events expire. On AWS the table deletes them, and the
//! poller is invoked about every three weeks. The embedded gateway is switched off, and sweeps when it runs again.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use postrider_domain::webhook::Webhook;
use serde_json::Value;

use super::TABLE;
use super::audit::{Row, delivery, text};
use super::clients::key;
use super::world::{MINUTE_MS, World, is_row};

pub(super) const DAY_MS: i64 = 24 * 60 * MINUTE_MS;
/// How many days pass at once.
const STRETCH_DAYS: (i64, i64) = (10, 30);
/// When a webhook that was paused is resumed: at the latest when its deliveries have almost expired.
const RESUMED_ON_DAY: (i64, i64) = (1, 88);
/// How long things go wrong after it was resumed.
const UNREST_MS: i64 = 3 * MINUTE_MS;
/// How long things may go wrong after each stretch: while the poller runs once, or the embedded gateway sweeps.
const AWAKE_MS: i64 = MINUTE_MS - 1;
const SWEEPING_MS: i64 = 2 * MINUTE_MS + MINUTE_MS / 2;
/// For how long neither poller nor dispatcher run in some runs. An event is stored for 37 days.
const OUTAGE_DAYS: (i64, i64) = (25, 60);
/// By then nothing is left: the last attempt, 97 days, and as late as an item is deleted.
const LATEST_MS: i64 = 200 * DAY_MS;
/// How many events are published while the webhook is paused.
const EVENTS: usize = 2;
/// When a sender repeats an event with its key: when what was delivered is gone. The event expires after 37 days.
const REPEATED_ON_DAY: (i64, i64) = (33, 40);
/// The first inbound event, if a run has that many.
const INBOUND_EVENT: usize = 2;

impl World {
    /// Pauses one of the webhooks in half of the runs, and publishes events for it.
    pub(super) async fn leave_paused(self: &Arc<Self>, first_event: usize) -> Option<&Webhook> {
        let left = self.draws.index("left", self.webhooks.len() * 2);
        let webhook = self.webhooks.get(left)?;
        self.note(&format!("an operator pauses {} for long", webhook.id));
        self.pause(&webhook.tenant, webhook.id).await;
        let of_tenant =
            |number: &usize| self.tenants[number % self.tenants.len()] == webhook.tenant;
        for number in (first_event..).filter(of_tenant).take(EVENTS) {
            Arc::clone(self)
                .publish(number, self.executor.now_ms())
                .await;
        }
        Some(webhook)
    }

    /// Lets everything expire. A webhook that was left paused is resumed in most runs.
    pub(super) async fn age(self: &Arc<Self>, paused: Option<&Webhook>, next_event: usize) {
        let resumed = paused.filter(|_| self.draws.below("resumed", 3) > 0);
        if let Some(webhook) = resumed {
            let (first, last) = RESUMED_ON_DAY;
            let days = self.draws.between("resumed on", first, last);
            self.pass(days * DAY_MS).await;
            self.resume_late(webhook).await;
        } else if self.machine().is_none() {
            match self.draws.below("episode", 4) {
                0 => self.fail_for_weeks(next_event).await,
                1 => self.repeat_late().await,
                _ => {}
            }
        }
        let latest = self.executor.now_ms() + LATEST_MS;
        while !self.left().is_empty() && self.executor.now_ms() < latest {
            let (least, most) = STRETCH_DAYS;
            self.pass(self.draws.between("stretch", least, most) * DAY_MS)
                .await;
        }
        self.audit.expired_at_rest(&self.left());
    }

    /// Lets time pass. What happens in it may fail.
    async fn pass(self: &Arc<Self>, ms: i64) {
        let until = self.executor.now_ms() + ms;
        self.note(&format!("{} days pass", ms / DAY_MS));
        self.draws.begin_unrest();
        self.quiet_until_ms.store(until, Ordering::Relaxed);
        if let Some(machine) = self.machine() {
            self.switch_off(machine, until);
        }
        let awake_ms = self.machine().map_or(AWAKE_MS, |_| SWEEPING_MS);
        self.executor.sleep(ms + awake_ms).await;
        self.calm_down();
        self.rest().await;
        self.note_expiries();
    }

    /// Publishes an event that nothing attempts for weeks. What has outlived it is dead afterwards.
    async fn fail_for_weeks(self: &Arc<Self>, event: usize) {
        let (least, most) = OUTAGE_DAYS;
        let days = self.draws.between("outage days", least, most);
        self.note(&format!("poller and dispatcher do not run for {days} days"));
        // After whole days, the poller is at the minute of the hour in which it looks for these rows.
        let until = self.executor.now_ms() + days * DAY_MS;
        self.quiet_until_ms.store(until, Ordering::Relaxed);
        self.loses_messages.store(true, Ordering::Relaxed);
        Arc::clone(self)
            .publish(event, self.executor.now_ms())
            .await;
        self.executor.sleep(until - self.executor.now_ms()).await;
        self.loses_messages.store(false, Ordering::Relaxed);
        self.rest().await;
        self.audit_rows();
    }

    /// Sends an old event again, whether it is still stored or not. Its deliveries have to be stored afterwards.
    async fn repeat_late(self: &Arc<Self>) {
        let (least, most) = REPEATED_ON_DAY;
        let days = self.draws.between("repeated on", least, most);
        self.pass(days * DAY_MS).await;
        self.note("a sender repeats an old event");
        let tenant = &self.tenants[INBOUND_EVENT % self.tenants.len()];
        let key = key(INBOUND_EVENT);
        let published = self.publish_until_answered(INBOUND_EVENT, tenant, Some(&key));
        let Some(published) = published.await else {
            return;
        };
        self.rest().await;
        self.audit_rows();
        self.audit_stored(published.deliveries.iter().map(|id| (*id, tenant.clone())));
    }

    /// An operator resumes a webhook whose deliveries are old, and retries some that are dead.
    async fn resume_late(self: &Arc<Self>, webhook: &Webhook) {
        let (tenant, id) = (&webhook.tenant, webhook.id);
        self.note(&format!("an operator resumes {id}"));
        let host = webhook.settings.target_url.host_str().unwrap().to_owned();
        let now = self.executor.now_ms();
        self.receivers.add(host, &self.draws, now, now + UNREST_MS);
        self.draws.begin_unrest();
        self.resume(tenant, id).await;
        self.retry_some(tenant).await;
        self.executor.sleep(UNREST_MS).await;
        self.calm_down();
        self.resume(tenant, id).await;
        self.rest().await;
        self.audit_rows();
    }

    /// Reads which deliveries are reported as expired. On AWS the topic does.
    fn note_expiries(&self) {
        let Some(machine) = self.machine() else {
            return;
        };
        for data in machine.dead_deliveries() {
            self.expiry_notified(&data);
        }
    }

    /// A notification that a delivery is dead.
    pub(super) fn expiry_notified(&self, data: &Value) {
        if data["reason"] == "expired" {
            let id = data["webhook_delivery_id"].as_str().unwrap();
            self.audit.expiry_reported(id);
        }
    }

    /// What is stored of events and deliveries.
    fn left(&self) -> Vec<String> {
        if let Some(machine) = self.machine() {
            return machine.left();
        }
        let database = self.database.lock();
        let items = database.items(TABLE);
        let left = items.map(|item| (text(item, "pk"), text(item, "sk")));
        let left = left.filter(|(pk, _)| pk.contains("#evt_"));
        left.map(|(pk, sk)| format!("{pk} {sk}")).collect()
    }

    /// Deletes what has expired from the tables, for ever.
    pub(super) async fn expire(self: Arc<Self>) {
        loop {
            let next = self.delete_expired();
            let now = self.executor.now_ms();
            // What is written in the meantime is stored for a day at least.
            let at = next.unwrap_or(i64::MAX).min(now + DAY_MS);
            self.executor.sleep(at - now).await;
        }
    }

    /// An event must be gone only after its rows.
    pub(super) fn event_removed(&self, pk: &str) {
        let database = self.database.lock();
        let rows = database.items(TABLE);
        let rows = rows.filter(|item| is_row(item) && text(item, "pk") == pk);
        for item in rows {
            let id = delivery(pk, text(item, "sk")).unwrap();
            let now = self.executor.now_ms();
            self.audit.event_removed(&id, Row::of(item), now);
        }
    }
}
