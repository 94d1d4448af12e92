//! Bulk retries that are killed, cancelled, shared by two processes, and larger than one slice.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::future::join_all;
use postrider_adapter_local::{SqliteOptions, SqliteStore};
use postrider_domain::decide::Transition;
use postrider_domain::delivery::{DeadCause, Status};
use postrider_domain::ids::{DeliveryId, TenantId, WebhookId};
use postrider_domain::time::Timestamp;
use postrider_gateway::retries::Retries;
use postrider_gateway::{GatewayError, Ports};
use postrider_ports::deliveries::Claim;
use postrider_ports::history::{Filter, MAX_EXAMINED};
use postrider_ports::jobs::{Count, JobState, RetryJob};
use postrider_ports::{RetryStore, Store};
use postrider_testkit::builders::{NOW, acceptance, after, completion, event};
use postrider_testkit::clock::{CountedEntropy, SteppedClock};
use postrider_testkit::recording_queue::RecordingQueue;
use postrider_testkit::store_suite::{Handle, Scene, WaitingRows};

use crate::interrupted_store::{InterruptedStore, LastCall};

const DIE: Transition = Transition::Die {
    cause: DeadCause::Exhausted,
};
const FOREVER: usize = usize::MAX;

/// A store with dead rows, and bulk retries over it.
struct Mailroom {
    _directory: tempfile::TempDir,
    scene: Scene,
    clock: Arc<SteppedClock>,
}

impl Mailroom {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(directory.path(), SqliteOptions::default()).unwrap();
        let handle = Handle {
            process: store.process().to_owned(),
            store,
            embedded: None,
            waiting_rows: WaitingRows::Unmarked,
        };
        Self {
            _directory: directory,
            scene: Scene::of(handle),
            clock: Arc::new(SteppedClock::at(after(1))),
        }
    }

    fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.scene.handle.store)
    }

    fn interrupted(&self, calls: usize, last: LastCall) -> Arc<InterruptedStore> {
        Arc::new(InterruptedStore::new(self.store(), calls, last))
    }

    fn retries(&self, store: Arc<dyn RetryStore>) -> Retries {
        let ports = Ports {
            store,
            clock: Arc::clone(&self.clock) as _,
            entropy: Arc::new(CountedEntropy::seeded(1)),
        };
        Retries::new(ports, Arc::new(RecordingQueue::default()))
    }

    /// One row after the other, newest last.
    async fn dead(&self, webhook: WebhookId, count: usize) -> Vec<DeliveryId> {
        let mut ids = Vec::new();
        for _ in 0..count {
            ids.push(self.scene.dead(webhook).await);
        }
        ids
    }

    /// A dead row that cannot be requeued, because its webhook is disabled.
    async fn gone(&self) {
        let webhook = self.scene.webhook().await.id;
        let id = self.scene.row(webhook).await;
        let gone = Transition::Die {
            cause: DeadCause::Gone,
        };
        self.scene.attempt(id, gone, NOW).await;
    }

    /// Attempts every pending row once; it dies again.
    async fn die_again(&self, ids: &[DeliveryId]) {
        for id in ids {
            if self.scene.stored(*id).await.status == Status::Pending {
                self.scene.attempt(*id, DIE, after(2)).await;
            }
        }
    }

    async fn unfinished(&self) -> Vec<RetryJob> {
        let unfinished = self.scene.unfinished_jobs().await.unwrap();
        unfinished.into_iter().map(|(_, job)| job).collect()
    }
}

fn tenant() -> TenantId {
    TenantId::default()
}

/// Runs steps until the job is finished or the process dies.
async fn finish(retries: &Retries, mut job: RetryJob) -> Result<RetryJob, GatewayError> {
    while job.is_unfinished() {
        job = retries.carry_on(&tenant(), job).await?;
    }
    Ok(job)
}

fn counts(job: &RetryJob) -> (JobState, Count, u64, u64) {
    (job.state, job.count(), job.done, job.failed)
}

#[tokio::test]
async fn a_slow_first_slice_does_not_hold_up_the_answer() {
    let room = Mailroom::new();
    let webhook = room.scene.webhook().await.id;
    room.dead(webhook, 7).await;
    let mut store = InterruptedStore::new(room.store(), FOREVER, LastCall::Lost);
    store.slow = Some(Arc::clone(&room.clock));
    let slow = room.retries(Arc::new(store)).in_slices_of(3);
    let begun = slow.begin(&tenant(), Filter::default()).await.unwrap();
    assert_eq!((begun.state, begun.done), (JobState::Running, 0));
    let retries = room.retries(room.store()).in_slices_of(3);
    let [job] = room.unfinished().await.try_into().unwrap();
    let job = finish(&retries, job).await.unwrap();
    assert_eq!(
        counts(&job),
        (JobState::Done, Count::Exactly(7), 7, 0),
        "nothing is lost or counted twice"
    );
}

#[tokio::test]
async fn a_bulk_retry_killed_at_any_call_counts_every_row_once() {
    for last in [LastCall::Lost, LastCall::Unanswered] {
        for calls in 1.. {
            let room = Mailroom::new();
            let webhook = room.scene.webhook().await.id;
            let ids = room.dead(webhook, 7).await;
            room.gone().await;
            let store = room.interrupted(calls, last);
            let retries = room.retries(store).in_slices_of(3);
            let begun = retries.begin(&tenant(), Filter::default()).await;
            let is_alive = match &begun {
                Ok(begun) => finish(&retries, begun.clone()).await.is_ok(),
                Err(_) => false,
            };
            // Some rows are even dead again before the job continues.
            room.die_again(&ids).await;
            let unfinished = room.unfinished().await;
            let retries = room.retries(room.store()).in_slices_of(3);
            let job = match (unfinished.as_slice(), begun) {
                ([job], _) => finish(&retries, job.clone()).await.unwrap(),
                ([], Ok(begun)) => retries.job(&tenant(), begun.id).await.unwrap(),
                ([], Err(_)) => {
                    assert_eq!(calls, 1, "only a job that was not stored is lost");
                    continue;
                }
                ([..], _) => panic!("{unfinished:?}"),
            };
            let place = format!("killed at call {calls}, {last:?}");
            let expected = (JobState::Done, Count::Exactly(8), 7, 1);
            assert_eq!(counts(&job), expected, "{place}");
            for id in &ids {
                let row = room.scene.stored(*id).await;
                let is_waiting = u32::from(row.status == Status::Pending);
                assert_eq!(row.attempts_total + is_waiting, 2, "{place}: requeued once");
            }
            if is_alive {
                break;
            }
        }
    }
}

#[tokio::test]
async fn a_bulk_retry_cancelled_and_killed_at_any_call_counts_what_it_requeued() {
    for calls in 2.. {
        let room = Mailroom::new();
        let webhook = room.scene.webhook().await.id;
        let ids = room.dead(webhook, 7).await;
        let store = room.interrupted(calls, LastCall::Unanswered);
        let retries = room.retries(store).in_slices_of(3);
        let begun = retries.begin(&tenant(), Filter::default()).await.unwrap();
        let ended = finish(&retries, begun.clone()).await;
        room.die_again(&ids).await;
        let retries = room.retries(room.store()).in_slices_of(3);
        let cancelled = retries.cancel(&tenant(), begun.id).await.unwrap();
        let job = finish(&retries, cancelled).await.unwrap();
        let mut requeued = 0;
        for id in &ids {
            requeued += u64::from(room.scene.stored(*id).await.attempts_total > 1);
        }
        assert_eq!((job.done, job.failed), (requeued, 0), "after call {calls}");
        if ended.is_ok() {
            assert_eq!((job.state, requeued), (JobState::Done, 7));
            break;
        }
    }
}

#[tokio::test]
async fn two_processes_that_run_the_same_slice_count_it_once() {
    let room = Mailroom::new();
    let webhook = room.scene.webhook().await.id;
    room.dead(webhook, 5).await;
    let retries = room.retries(room.store()).in_slices_of(2);
    let begun = retries.begin(&tenant(), Filter::default()).await.unwrap();
    let mut job = begun;
    while job.is_unfinished() {
        let tenant = tenant();
        let (one, other) = tokio::join!(
            retries.carry_on(&tenant, job.clone()),
            retries.carry_on(&tenant, job.clone())
        );
        job = one.unwrap();
        assert_eq!(other.unwrap().step, job.step);
    }
    assert_eq!(
        counts(&job),
        (JobState::Done, Count::Exactly(5), 5, 0),
        "{job:?}"
    );
}

/// Dead rows, many at a time.
async fn many_dead(room: &Mailroom, count: u32) {
    let webhook = room.scene.webhook().await.id;
    let version = room.scene.version().await;
    let store = room.store();
    let first = 1000;
    let plan = |n| acceptance(event(&tenant(), first + n, NOW), &[webhook], version);
    let batch = (0..count).map(plan).collect::<Vec<_>>();
    let ids = batch.iter().map(|one| one.rows[0].id);
    let wanted = ids.map(|id| room.scene.wanted(id, NOW)).collect();
    store.accept(batch).await;
    let claims = store.claim(wanted, NOW).await.into_iter();
    let die = claims.map(async |claim| {
        let Claim::Claimed(delivery) = claim.unwrap() else {
            panic!("no other process claims this row");
        };
        let done = completion(&delivery.claimed, DIE, NOW);
        store.apply(&delivery.claimed, done, NOW).await.unwrap()
    });
    join_all(die).await;
}

#[tokio::test]
async fn no_step_of_a_large_bulk_retry_touches_more_rows_than_a_small_one() {
    let room = Mailroom::new();
    many_dead(&room, 2_500).await;
    let store = room.interrupted(FOREVER, LastCall::Lost);
    let retries = room.retries(Arc::clone(&store) as _);
    let mut job = retries.begin(&tenant(), Filter::default()).await.unwrap();
    // Starting it counts two pages and requeues one slice.
    assert_eq!(
        counts(&job),
        (JobState::Running, Count::AtLeast(2_000), 200, 0)
    );
    let mut most_requeued = store.requeued.swap(0, Ordering::SeqCst);
    let mut steps = 0;
    while job.is_unfinished() {
        job = retries.carry_on(&tenant(), job).await.unwrap();
        most_requeued = most_requeued.max(store.requeued.swap(0, Ordering::SeqCst));
        steps += 1;
    }
    assert_eq!(
        counts(&job),
        (JobState::Done, Count::Exactly(2_500), 2_500, 0)
    );
    let most_listed = store.most_listed.load(Ordering::SeqCst);
    assert_eq!((most_requeued, most_listed), (200, MAX_EXAMINED));
    assert_eq!(
        steps, 12,
        "one for each further slice, and the last sees the end"
    );
}

#[tokio::test]
async fn an_error_after_the_job_is_stored_does_not_fail_the_call() {
    let room = Mailroom::new();
    let webhook = room.scene.webhook().await.id;
    room.dead(webhook, 2).await;
    let retries = room.retries(room.interrupted(2, LastCall::Lost));
    let begun = retries.begin(&tenant(), Filter::default()).await.unwrap();
    assert_eq!(counts(&begun), (JobState::Running, Count::AtLeast(0), 0, 0));
    assert_eq!(room.unfinished().await, [begun]);
}

#[tokio::test]
async fn a_dry_run_counts_exactly_up_to_its_limit() {
    let room = Mailroom::new();
    let retries = room.retries(room.store());
    let counted = retries.count(&tenant(), Filter::default()).await.unwrap();
    assert_eq!(counted, Count::Exactly(0));
    many_dead(&room, 10_000).await;
    let counted = retries.count(&tenant(), Filter::default()).await.unwrap();
    assert_eq!(counted, Count::Exactly(10_000));
    let webhook = room.scene.webhook().await.id;
    room.dead(webhook, 1).await;
    let counted = retries.count(&tenant(), Filter::default()).await.unwrap();
    assert_eq!(counted, Count::AtLeast(10_000));
}

#[tokio::test]
async fn a_failed_row_that_a_worker_attempts_meanwhile_is_not_counted_as_requeued() {
    let room = Mailroom::new();
    let webhook = room.scene.webhook().await.id;
    let id = room.scene.failed(webhook).await;
    let failed = Filter {
        status: Some(Status::Failed),
        ..Filter::default()
    };
    // Killed after the slice was listed and stored.
    let retries = room.retries(room.interrupted(5, LastCall::Lost));
    retries.begin(&tenant(), failed).await.unwrap();
    let in_flight: Timestamp = after(61);
    room.clock.set(in_flight);
    room.scene.claimed(id, in_flight).await;
    let [job] = <[RetryJob; 1]>::try_from(room.unfinished().await).unwrap();
    let job = finish(&room.retries(room.store()), job).await.unwrap();
    assert_eq!(counts(&job), (JobState::Done, Count::Exactly(1), 0, 1));
}

/// The row becomes unreadable after its slice was listed.
#[tokio::test]
async fn an_unreadable_row_does_not_stop_a_bulk_retry() {
    let room = Mailroom::new();
    let webhook = room.scene.webhook().await.id;
    let ids = room.dead(webhook, 3).await;
    let mut store = InterruptedStore::new(room.store(), FOREVER, LastCall::Lost);
    store.unreadable = Some(ids[1]);
    let retries = room.retries(Arc::new(store));
    let begun = retries.begin(&tenant(), Filter::default()).await.unwrap();
    let job = finish(&retries, begun).await.unwrap();
    assert_eq!(counts(&job), (JobState::Done, Count::Exactly(3), 2, 1));
}

/// Such a filter may examine very many rows and match few.
#[tokio::test]
async fn a_dry_run_ends_after_a_while() {
    let room = Mailroom::new();
    many_dead(&room, 2_500).await;
    let mut store = InterruptedStore::new(room.store(), FOREVER, LastCall::Lost);
    store.slow = Some(Arc::clone(&room.clock));
    let retries = room.retries(Arc::new(store));
    let counted = retries.count(&tenant(), Filter::default()).await.unwrap();
    assert_eq!(counted, Count::AtLeast(2_000));
}

#[tokio::test]
async fn a_bulk_retry_started_by_a_clock_that_ran_ahead_ends() {
    let room = Mailroom::new();
    let webhook = room.scene.webhook().await.id;
    room.dead(webhook, 5).await;
    room.clock.set(after(86_400));
    let retries = room.retries(room.store()).in_slices_of(2);
    let begun = retries.begin(&tenant(), Filter::default()).await.unwrap();
    room.clock.set(after(1));
    let job = finish(&retries, begun).await.unwrap();
    assert_eq!(counts(&job), (JobState::Done, Count::Exactly(5), 5, 0));
}
