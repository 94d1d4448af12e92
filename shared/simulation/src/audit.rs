//! What clients, receivers and the table saw, and the promises that it is held against.

mod expiry;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::dynamodb::{ItemChange, TableItem};
use parking_lot::Mutex;
use postrider_domain::delivery::Status;
use postrider_domain::ids::{DeliveryId, TenantId, WebhookId};

use self::expiry::Expired;
use super::executor::Process;
use super::functions::Function;

/// For how long a jump of the clock may have an effect on a delivery: as long as a slow call takes.
const AFTER_A_JUMP_MS: i64 = 10_000;

/// A promise that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    pub promise: Promise,
    pub detail: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Promise {
    /// What was acknowledged is delivered, dead, or waits for a webhook that is stopped.
    Kept,
    /// Every open row is found, even if its message is lost.
    Found,
    /// One request at a time per delivery.
    OneAtATime,
    /// No more requests than attempts, but for those that a dying process left.
    Counted,
    /// A closed row stays closed until an operator retries it.
    Closed,
    /// A repeated key returns the first result.
    Idempotent,
    /// A delivered row was accepted by its receiver.
    Accepted,
    /// No webhook is called faster than its limit.
    WithinRate,
    /// No more requests are in flight to a webhook than it allows.
    WithinSlots,
    /// Counters are exact if nothing went wrong on their way.
    Tallied,
    /// One e-mail per episode.
    OneMail,
    /// Every webhook that failed is reported.
    Reported,
    /// A row is stored for as long as its retention says.
    Retained,
    /// An event is stored for longer than its rows.
    Outlived,
    /// A row that was still open when it expired is reported as dead.
    ExpiryReported,
    /// Nothing of a delivery is stored for ever.
    Cleared,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.promise, self.detail)
    }
}

/// A request that a receiver got.
#[derive(Clone, Copy, Debug)]
pub(super) struct Posted {
    pub(super) process: Process,
    pub(super) at_ms: i64,
    pub(super) ends_ms: i64,
    pub(super) is_accepted: bool,
}

#[derive(Default)]
pub(super) struct Audit {
    state: Mutex<State>,
    expired: Expired,
}

#[derive(Default)]
struct State {
    trace: Vec<String>,
    violation: Option<Violation>,
    acknowledged: BTreeMap<DeliveryId, TenantId>,
    posted: BTreeMap<String, Vec<Posted>>,
    /// Requests whose process ended before their result was stored.
    excused: BTreeMap<String, usize>,
    requeued: BTreeSet<String>,
    /// Whether an operator asked to retry all dead rows.
    retries_all: bool,
    /// Rows whose first record the watcher has not seen.
    unwatched: BTreeSet<(String, String)>,
    mails: BTreeMap<String, usize>,
    failed_webhooks: BTreeSet<String>,
    subjects: Vec<String>,
    faults: BTreeMap<Function, usize>,
    deleted_webhooks: BTreeSet<String>,
    /// When a process went on that stood still, or waited for its disk.
    stalls: Vec<i64>,
    /// When the clock of the machine jumped.
    jumps: Vec<i64>,
}

impl Audit {
    pub(super) fn note(&self, now_ms: i64, line: &str) {
        let seconds = (now_ms - super::START_MS) / 1000;
        let ms = (now_ms - super::START_MS) % 1000;
        let line = format!("{seconds:>6}.{ms:03} {line}");
        self.state.lock().trace.push(line);
    }

    pub(super) fn trace(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().trace)
    }

    /// Only the first one counts: what follows may be its consequence.
    pub(super) fn violate(&self, promise: Promise, detail: String) {
        let mut state = self.state.lock();
        state.violation.get_or_insert(Violation { promise, detail });
    }

    pub(super) fn violation(&self) -> Option<Violation> {
        self.state.lock().violation.clone()
    }

    pub(super) fn acknowledge(&self, tenant: &TenantId, deliveries: &[DeliveryId]) {
        let mut state = self.state.lock();
        for id in deliveries {
            state.acknowledged.insert(*id, tenant.clone());
        }
    }

    pub(super) fn acknowledged(&self) -> BTreeMap<DeliveryId, TenantId> {
        self.state.lock().acknowledged.clone()
    }

    pub(super) fn requests(&self) -> usize {
        self.state.lock().posted.values().map(Vec::len).sum()
    }

    pub(super) fn requeue(&self, id: DeliveryId) {
        self.state.lock().requeued.insert(id.to_string());
    }

    pub(super) fn retry_all(&self) {
        self.state.lock().retries_all = true;
    }

    pub(super) fn post(&self, delivery: &str, posted: Posted) {
        let mut state = self.state.lock();
        let earlier = state.posted.entry(delivery.to_owned()).or_default();
        let overlaps = earlier.iter().any(|one| one.ends_ms > posted.at_ms);
        earlier.push(posted);
        drop(state);
        if overlaps {
            let detail = format!("a second request of {delivery} began before the first had ended");
            self.violate(Promise::OneAtATime, detail);
        }
    }

    /// A process ended. Requests whose result it may not have stored are excused.
    pub(super) fn ended(&self, process: Process, since_ms: i64) {
        let mut state = self.state.lock();
        let State {
            posted, excused, ..
        } = &mut *state;
        for (delivery, posted) in posted {
            let left = |one: &&Posted| one.process == process && one.at_ms >= since_ms;
            let left = posted.iter().filter(left).count();
            if left > 0 {
                *excused.entry(delivery.clone()).or_default() += left;
            }
        }
    }

    /// A process died that held these rows: a request of each may have no result. Its connections are closed.
    pub(super) fn died(&self, process: Process, held: &[String], now_ms: i64) {
        let mut state = self.state.lock();
        let State {
            posted, excused, ..
        } = &mut *state;
        for id in held {
            *excused.entry(id.clone()).or_default() += 1;
        }
        let posted = posted.values_mut().flatten();
        for one in posted.filter(|one| one.process == process) {
            one.ends_ms = one.ends_ms.min(now_ms);
        }
    }

    pub(super) fn jump(&self, now_ms: i64) {
        self.state.lock().jumps.push(now_ms);
    }

    /// A process stands still, or waits for its disk, until then.
    pub(super) fn stall(&self, until_ms: i64) {
        self.state.lock().stalls.push(until_ms);
    }

    pub(super) fn mail(&self, id: &str, subject: &str) {
        let mut state = self.state.lock();
        *state.mails.entry(id.to_owned()).or_default() += 1;
        state.subjects.push(subject.to_owned());
    }

    /// Something went wrong in or for a function.
    pub(super) fn fault(&self, function: Function) {
        *self.state.lock().faults.entry(function).or_default() += 1;
    }

    /// An operator asks to delete this webhook.
    pub(super) fn delete_webhook(&self, name: &str) {
        self.state.lock().deleted_webhooks.insert(name.to_owned());
    }

    pub(super) fn webhook_failed(&self, name: String) {
        self.state.lock().failed_webhooks.insert(name);
    }

    /// A change of the table of deliveries.
    pub(super) fn changed(&self, change: &ItemChange) {
        let (pk, sk) = (change.pk(), change.sk());
        if !sk.starts_with("delivery#") {
            return;
        }
        let Some(id) = delivery(&pk, &sk) else {
            return;
        };
        let [before, after] =
            [&change.before, &change.after].map(|item| item.as_ref().map(Row::of));
        let Some(after) = after else {
            let row = before.expect("a change has an image");
            self.row_removed(&id, row, change.at_ms);
            return;
        };
        let key = (pk, sk);
        if after.version == 0 {
            self.state.lock().unwatched.insert(key.clone());
        }
        let is_unwatched = self.state.lock().unwatched.contains(&key);
        if after.is_open() && !after.has_lane && !is_unwatched {
            let detail = format!("{id} is open, and nothing leads to it");
            self.violate(Promise::Found, detail);
        }
        self.row_changed(&id, before, after, change.at_ms);
    }

    /// A change of the stored row of a delivery.
    pub(super) fn row_changed(&self, id: &str, before: Option<Row>, after: Row, now_ms: i64) {
        let before = before.filter(|before| !before.is_replaced_by(after, now_ms));
        match before {
            Some(before) => self.event_may_be_gone(id, before, after, now_ms),
            None => self.forget(id),
        }
        let state = self.state.lock();
        let mut broken = Vec::new();
        if let Some(before) = before {
            let is_requeued = state.retries_all || state.requeued.contains(id);
            if !before.is_open() && after.is_open() && !is_requeued {
                broken.push((
                    Promise::Closed,
                    format!("{id} was {} and is open again", before.status.as_str()),
                ));
            }
            if after.attempts < before.attempts {
                broken.push((Promise::Counted, format!("attempts of {id} were forgotten")));
            }
        }
        let posts = state.posted.get(id).map_or(0, Vec::len);
        if after.attempts > posts {
            let attempts = after.attempts;
            let detail = format!("{id} has {attempts} attempts and {posts} requests");
            broken.push((Promise::Counted, detail));
        }
        drop(state);
        for (promise, detail) in broken {
            self.violate(promise, detail);
        }
    }

    /// The watcher is done with the first record of this row, which is now stored as `item`.
    pub(super) fn watched(&self, pk: &str, sk: &str, item: Option<&TableItem>) {
        let key = (pk.to_owned(), sk.to_owned());
        self.state.lock().unwatched.remove(&key);
        let row = item.map(Row::of);
        if row.is_some_and(|row| row.is_open() && !row.has_lane) {
            let detail = format!("{pk} {sk} is open after its watch, and nothing leads to it");
            self.violate(Promise::Found, detail);
        }
    }

    /// A row is stored that is new, or takes the place of one that has expired.
    fn forget(&self, id: &str) {
        let mut state = self.state.lock();
        state.posted.remove(id);
        state.excused.remove(id);
    }

    /// What has to hold at the end, for each row.
    pub(super) fn at_rest(&self, item: &TableItem) {
        let (pk, sk) = (text(item, "pk"), text(item, "sk"));
        if let Some(id) = delivery(pk, sk) {
            self.row_at_rest(&id, Row::of(item));
        }
    }

    pub(super) fn row_at_rest(&self, id: &str, row: Row) {
        let state = self.state.lock();
        let posted = state.posted.get(id).map_or(&[][..], Vec::as_slice);
        let excused = state.excused.get(id).copied().unwrap_or_default();
        // By a clock that has jumped ahead, the lease of a row that is being attempted or stored is over.
        let follows = |jump: &&i64| {
            let after = **jump..=**jump + AFTER_A_JUMP_MS;
            posted.iter().any(|one| after.contains(&one.at_ms))
        };
        let excused = excused + state.jumps.iter().filter(follows).count();
        let mut broken = Vec::new();
        if posted.len() > row.attempts + excused {
            let (posts, attempts) = (posted.len(), row.attempts);
            let detail =
                format!("{id} has {posts} requests, {attempts} attempts and {excused} excuses");
            broken.push((Promise::Counted, detail));
        }
        let is_accepted = posted.iter().any(|one| one.is_accepted);
        if row.status == Status::Delivered && !is_accepted {
            broken.push((
                Promise::Accepted,
                format!("{id} is delivered, but was not accepted"),
            ));
        }
        drop(state);
        for (promise, detail) in broken {
            self.violate(promise, detail);
        }
    }

    /// What has to hold at the end, for e-mail.
    pub(super) fn mail_at_rest(&self) {
        let state = self.state.lock();
        let again: usize = state.mails.values().map(|count| count - 1).sum();
        let faults = state
            .faults
            .get(&Function::Notifier)
            .copied()
            .unwrap_or_default();
        let is_unreported = |name: &&String| {
            let is_mailed = state.subjects.iter().any(|it| it.contains(*name));
            !is_mailed && !state.deleted_webhooks.contains(*name)
        };
        let unreported = state.failed_webhooks.iter().filter(is_unreported);
        let unreported: Vec<_> = unreported.cloned().collect();
        drop(state);
        if again > faults {
            let detail = format!("{again} e-mails were sent again after {faults} faults");
            self.violate(Promise::OneMail, detail);
        }
        if !unreported.is_empty() {
            self.violate(Promise::Reported, format!("no e-mail about {unreported:?}"));
        }
    }

    /// What has to hold at the end, for the sums of counted and of stored attempts.
    pub(super) fn counters_at_rest(&self, counted: usize, attempts: usize) {
        let is_undisturbed = !self.state.lock().faults.contains_key(&Function::Publisher);
        if is_undisturbed && counted != attempts {
            let detail = format!("{counted} attempts are counted, {attempts} are stored");
            self.violate(Promise::Tallied, detail);
        }
    }

    /// No more than `most` requests of these deliveries are in flight at once.
    pub(super) fn within_slots(&self, webhook: WebhookId, most: usize) {
        let posted = self.posted_to(webhook);
        for one in &posted {
            let is_in_flight =
                |other: &&Posted| other.at_ms <= one.at_ms && other.ends_ms > one.at_ms;
            let in_flight = posted.iter().filter(is_in_flight).count();
            if in_flight > most {
                let detail = format!("{in_flight} requests to {webhook} are in flight: {one:?}");
                self.violate(Promise::WithinSlots, detail);
            }
        }
    }

    fn posted_to(&self, webhook: WebhookId) -> Vec<Posted> {
        let state = self.state.lock();
        let of_webhook = |(id, _): &(&String, &Vec<Posted>)| {
            let id: Option<DeliveryId> = id.parse().ok();
            id.is_some_and(|id| id.webhook == webhook)
        };
        let posted = state.posted.iter().filter(of_webhook);
        posted.flat_map(|(_, all)| all.iter().copied()).collect()
    }

    /// No second has more requests of these deliveries than `most`.
    pub(super) fn within_rate(&self, webhook: WebhookId, most: usize) {
        let posted = self.posted_to(webhook);
        let mut at: Vec<_> = posted.iter().map(|one| one.at_ms).collect();
        at.sort_unstable();
        let stalls = self.state.lock().stalls.clone();
        // What was permitted before a stall is sent after it, together with what is permitted then.
        let is_stalled = |window: &[i64]| {
            let near = window[0] - 1000..=window[most];
            stalls.iter().any(|ended_ms| near.contains(ended_ms))
        };
        let busiest = at
            .windows(most + 1)
            .find(|window| window[most] - window[0] < 1000 && !is_stalled(window));
        if let Some(window) = busiest {
            let detail = format!("{webhook} got more than {most} requests in a second: {window:?}");
            self.violate(Promise::WithinRate, detail);
        }
    }
}

/// What the audit reads of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) status: Status,
    /// Whether the poller, a drainer or the worker looks for it.
    pub(super) has_lane: bool,
    pub(super) in_backlog: bool,
    pub(super) attempts: usize,
    pub(super) version: u64,
    pub(super) created_ms: i64,
    /// When it was accepted or last attempted.
    pub(super) touched_ms: i64,
    /// When it is due, if it is open.
    pub(super) due_ms: i64,
    /// Whether it was ended because its event was gone.
    pub(super) has_lost_event: bool,
}

/// The cause of a row that was ended because its event was gone.
pub(super) const EVENT_EXPIRED: &str = "event_expired";

impl Row {
    pub(super) fn of(item: &TableItem) -> Self {
        let number = |name: &str| item[name]["N"].as_str().unwrap().parse::<u64>().unwrap();
        let time = |name| item.contains_key(name).then(|| number(name).cast_signed());
        let lane = item.get("lane").and_then(|lane| lane["S"].as_str());
        let created_ms = time("created_at").unwrap();
        let attempted_ms = time("last_attempted_at").unwrap_or(created_ms);
        let cause = item.get("dead_cause").and_then(|cause| cause["S"].as_str());
        Self {
            status: text(item, "status").parse().unwrap(),
            has_lane: lane.is_some(),
            in_backlog: lane.is_some_and(|lane| lane.starts_with("backlog#")),
            attempts: usize::try_from(number("attempts_total")).unwrap(),
            version: number("version"),
            created_ms,
            touched_ms: created_ms.max(attempted_ms),
            due_ms: time("next_retry_at").unwrap_or_default(),
            has_lost_event: cause == Some(EVENT_EXPIRED),
        }
    }

    pub(super) const fn is_open(self) -> bool {
        self.status.is_open()
    }
}

pub(super) fn text<'a>(item: &'a TableItem, name: &str) -> &'a str {
    item[name]["S"].as_str().unwrap()
}

/// The id of a delivery, from the key of its row.
pub(super) fn delivery(pk: &str, sk: &str) -> Option<String> {
    let (_, event) = pk.split_once('#')?;
    let webhook = sk.strip_prefix("delivery#")?;
    let id = DeliveryId {
        event: event.parse().ok()?,
        webhook: webhook.parse().ok()?,
    };
    Some(id.to_string())
}
