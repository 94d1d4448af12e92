//! Limiters, drain leases, and the rows that are drained.

use std::sync::Arc;

use postrider_domain::decide::Transition;
use postrider_domain::delivery::Unclaimable;
use postrider_domain::flow::{AttemptKind, Limiter, Limits, Ramp};
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::{DeliveryId, WebhookId};
use postrider_domain::time::{Millis, Timestamp};
use postrider_domain::webhook::WebhookSettings;
use postrider_ports::configs::{Changed, WebhookChange};
use postrider_ports::deliveries::Claim;
use postrider_ports::drains::{BacklogPart, BacklogSize, DrainEnd, DrainLease, Looked, Postponed};
use postrider_ports::limiters::{Stored, WebhookFlow};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::scene::retry_at;
use super::{Fixture, Scene};
use crate::builders::{NOW, after};

const LIMITS: Limits = Limits {
    retry_rate: 5,
    ramp: Ramp::Off,
    max_rate: None,
    max_in_flight: None,
};

fn at(ms: u64) -> Timestamp {
    NOW.plus(Millis::new(ms))
}

fn lease(owner: &str, taken_at: Timestamp) -> DrainLease {
    DrainLease {
        owner: owner.to_owned(),
        taken_at,
    }
}

impl Scene {
    pub async fn flow(&self, webhook: WebhookId) -> WebhookFlow {
        let webhook = (self.tenant.clone(), webhook);
        let flow = self.flows(&[webhook]).await.remove(0).unwrap();
        flow.expect("the flow exists")
    }

    pub async fn limiter(&self, webhook: WebhookId) -> Limiter {
        self.flow(webhook).await.limiter
    }

    /// Limits a webhook to this many attempts per second.
    pub async fn limit(&self, webhook: WebhookId, per_second: u32, now: Timestamp) -> Limiter {
        let before = self.limiter(webhook).await;
        let entered = Limiter {
            limited: true,
            rate_milli: per_second * 1000,
            changed_at: now,
            epoch: before.epoch + 1,
            ..before
        };
        let stored = self.enter(&self.tenant, webhook, before.epoch, entered, now);
        assert_eq!(stored.await, Ok(Stored::Done));
        entered
    }

    pub async fn take_lease(&self, webhook: WebhookId, lease: &DrainLease) -> Option<WebhookFlow> {
        let taken = self.take_drain_lease(&self.tenant, webhook, lease.clone());
        taken.await.unwrap()
    }

    /// All rows of one kind in a webhook's backlog, the most overdue first.
    pub async fn waiting(&self, webhook: WebhookId, kind: AttemptKind) -> Vec<DeliveryId> {
        let mut found = Vec::new();
        for shard in 0..self.shards() {
            let part = BacklogPart {
                webhook,
                kind,
                shard,
            };
            let rows = self.backlog_rows(&self.tenant, part, 100, None).await;
            found.extend(rows.unwrap().messages);
        }
        found.sort_by_key(|message| (message.next_retry_at, message.id));
        found.into_iter().map(|message| message.id).collect()
    }

    /// Moves a row to the backlog of its webhook, as a worker does that may not attempt it yet.
    pub async fn postpone(&self, id: DeliveryId, now: Timestamp) {
        let row = self.stored(id).await;
        let row = Postponed {
            tenant: row.tenant.clone(),
            id,
            kind: AttemptKind::of(&row),
            next_retry_at: row.next_retry_at.unwrap_or(row.created_at),
        };
        let moved = self.move_to_backlog(vec![row], now).await;
        assert_eq!(moved, [Ok(())]);
    }

    /// A stored row in the backlog of its webhook, due at `at`.
    pub async fn waiting_row_at(&self, webhook: WebhookId, at: Timestamp) -> DeliveryId {
        let id = self.row_at(webhook, at).await;
        self.postpone(id, at).await;
        id
    }

    pub async fn try_drain(&self, id: DeliveryId, now: Timestamp) -> Claim {
        let wanted = vec![self.wanted(id, now)];
        let mut claims = self.claim_from_backlog(wanted, now).await;
        assert_eq!(claims.len(), 1);
        claims.remove(0).unwrap()
    }

    async fn credit(&self, webhook: WebhookId, want: usize, now: Timestamp) -> usize {
        let seen = self.flow(webhook).await;
        let taken = self.take_credit(&self.tenant, webhook, &seen, want, LIMITS, now);
        taken.await.unwrap()
    }
}

fn end(limiter: Limiter, seen_epoch: u64, now: Timestamp) -> DrainEnd {
    DrainEnd {
        at: now,
        limiter,
        seen_epoch,
        asked_for: Some(now),
        looked: Some(Looked {
            at: now,
            first_due_at: None,
        }),
    }
}

pub async fn workers_that_have_seen_the_same_flow_share_its_credit(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let seen = scene.flow(webhook).await;
    let mut granted = 0;
    for _ in 0..3 {
        let taken = scene.take_credit(&scene.tenant, webhook, &seen, 1, LIMITS, NOW);
        granted += taken.await.unwrap();
    }
    assert_eq!(granted, 1);
    let lease = lease("a", after(1));
    scene.take_lease(webhook, &lease).await.unwrap();
    let taken = scene.take_credit(&scene.tenant, webhook, &seen, 1, LIMITS, after(2));
    assert_eq!(taken.await, Ok(0), "the drainer has it");
}

/// The next one gets it when it is given back.
pub async fn one_of_many_drainers_gets_the_lease(fixture: impl Fixture) {
    let scene = Arc::new(Scene::of(fixture.handle()));
    let webhook = scene.webhook().await.id;
    let barrier = Arc::new(Barrier::new(8));
    let mut drainers = JoinSet::new();
    for n in 0..8 {
        let (scene, barrier) = (scene.clone(), barrier.clone());
        drainers.spawn(async move {
            barrier.wait().await;
            let lease = lease(&format!("p/{n}"), NOW);
            scene.take_lease(webhook, &lease).await.map(|_| lease)
        });
    }
    let taken: Vec<_> = drainers.join_all().await.into_iter().flatten().collect();
    assert_eq!(taken.len(), 1);
    let limiter = scene.limiter(webhook).await;
    let ended = end(limiter, limiter.epoch, after(1));
    let other = lease("other", NOW);
    let not_given = scene.end_drain(&scene.tenant, webhook, &other, ended.clone());
    assert_eq!(not_given.await, Ok(()));
    assert!(
        scene
            .take_lease(webhook, &lease("p/9", after(1)))
            .await
            .is_none(),
        "only its holder gives it back"
    );
    let given_back = scene.end_drain(&scene.tenant, webhook, &taken[0], ended);
    given_back.await.unwrap();
    let flow = scene.flow(webhook).await;
    assert_eq!(
        (flow.drain.lease, flow.drain.asked_for),
        (None, Some(after(1)))
    );
    assert_eq!(flow.drain.looked.map(|looked| looked.at), Some(after(1)));
    assert!(
        scene
            .take_lease(webhook, &lease("p/9", after(2)))
            .await
            .is_some()
    );
}

pub async fn a_lease_ends_after_a_minute(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    assert!(scene.take_lease(webhook, &lease("a", NOW)).await.is_some());
    assert!(
        scene
            .take_lease(webhook, &lease("b", after(60)))
            .await
            .is_none()
    );
    assert!(
        scene
            .take_lease(webhook, &lease("b", after(61)))
            .await
            .is_some()
    );
}

pub async fn a_lease_of_a_clock_that_runs_ahead_is_void(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let ahead = lease("a", after(86_400));
    assert!(scene.take_lease(webhook, &ahead).await.is_some());
    assert!(scene.take_lease(webhook, &lease("b", NOW)).await.is_some());
    let limiter = scene.limiter(webhook).await;
    let stored = scene.store_limiter(&scene.tenant, webhook, &ahead, limiter.epoch, limiter);
    assert_eq!(stored.await, Ok(Stored::Outdated));
}

/// The process that had it before does not.
pub async fn only_the_holder_of_the_lease_stores_the_limiter(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let limiter = scene.limit(webhook, 10, NOW).await;
    let (first, second) = (lease("a", NOW), lease("b", after(61)));
    scene.take_lease(webhook, &first).await.unwrap();
    let raised = Limiter {
        rate_milli: 20_000,
        ..limiter
    };
    let store = async |lease: &DrainLease, limiter| {
        let stored = scene.store_limiter(&scene.tenant, webhook, lease, raised.epoch, limiter);
        stored.await.unwrap()
    };
    assert_eq!(store(&first, raised).await, Stored::Done);
    scene.take_lease(webhook, &second).await.unwrap();
    assert_eq!(store(&first, limiter).await, Stored::Outdated);
    assert_eq!(scene.limiter(webhook).await, raised);
    let opened = Limiter {
        limited: false,
        epoch: raised.epoch + 1,
        opened_at: after(61),
        ..raised
    };
    assert_eq!(store(&second, opened).await, Stored::Done);
    assert_eq!(
        store(&second, raised).await,
        Stored::Outdated,
        "another epoch"
    );
    assert_eq!(scene.limiter(webhook).await, opened);
}

pub async fn a_drainer_does_not_undo_a_pause_or_a_resume(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    for statuses in [
        &[WebhookStatus::Paused][..],
        &[WebhookStatus::Paused, WebhookStatus::Active][..],
    ] {
        let webhook = scene.webhook().await.id;
        let seen = scene.limit(webhook, 400, NOW).await;
        let lease = lease("a", NOW);
        scene.take_lease(webhook, &lease).await.unwrap();
        for status in statuses {
            scene.set_status(webhook, *status).await;
        }
        let there = scene.limiter(webhook).await;
        assert_ne!(there.epoch, seen.epoch);
        let stored = scene.store_limiter(&scene.tenant, webhook, &lease, seen.epoch, seen);
        assert_eq!(stored.await, Ok(Stored::Outdated));
        let ended = scene.end_drain(&scene.tenant, webhook, &lease, end(seen, seen.epoch, NOW));
        ended.await.unwrap();
        let flow = scene.flow(webhook).await;
        assert_eq!((flow.limiter, flow.drain.lease), (there, None));
    }
}

/// And none of them once it is limited.
pub async fn one_of_many_workers_limits_the_webhook(fixture: impl Fixture) {
    let scene = Arc::new(Scene::of(fixture.handle()));
    let webhook = scene.webhook().await.id;
    let seen = scene.limiter(webhook).await;
    let enter = |scene: Arc<Scene>, rate_milli| async move {
        let entered = Limiter {
            limited: true,
            rate_milli,
            epoch: seen.epoch + 1,
            ..seen
        };
        let stored = scene.enter(&scene.tenant, webhook, seen.epoch, entered, NOW);
        stored.await.unwrap()
    };
    let mut workers = JoinSet::new();
    for n in 1..=8 {
        workers.spawn(enter(scene.clone(), n * 1000));
    }
    let stored = workers.join_all().await;
    let done = stored.iter().filter(|stored| **stored == Stored::Done);
    assert_eq!(done.count(), 1);
    let limiter = scene.limiter(webhook).await;
    assert!(limiter.limited);
    assert_eq!(enter(scene.clone(), 9000).await, Stored::Outdated);
    assert_eq!(scene.limiter(webhook).await, limiter);
}

/// However it was stopped.
pub async fn a_resumed_webhook_is_limited_to_one_per_second(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    for status in [WebhookStatus::Paused, WebhookStatus::Failed] {
        let webhook = scene.webhook().await.id;
        let before = scene.limiter(webhook).await;
        scene.set_status(webhook, status).await;
        let paused = scene.limiter(webhook).await;
        assert_eq!(paused, before.paused());
        assert_eq!(scene.flow(webhook).await.status, status);
        scene.set_status(webhook, WebhookStatus::Active).await;
        assert_eq!(scene.limiter(webhook).await, paused.resumed(NOW));
    }
}

/// Any process may ask.
pub async fn retries_take_credit_of_the_webhooks_rate(fixture: impl Fixture) {
    let scene = Arc::new(Scene::of(fixture.handle()));
    let webhook = scene.webhook().await.id;
    assert_eq!(scene.credit(webhook, 10, NOW).await, 1);
    assert_eq!(scene.credit(webhook, 10, at(199)).await, 0);
    assert_eq!(scene.credit(webhook, 10, at(200)).await, 1);
    let mut workers = JoinSet::new();
    for _ in 0..4 {
        let scene = scene.clone();
        workers.spawn(async move { scene.credit(webhook, 10, at(400)).await });
    }
    let taken: usize = workers.join_all().await.into_iter().sum();
    assert_eq!(taken, 1);
    assert_eq!(
        scene.credit(webhook, 10, after(60)).await,
        1,
        "unused credit does not pile up"
    );
}

pub async fn credit_of_a_clock_that_ran_ahead_holds_nothing_up(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    assert_eq!(scene.credit(webhook, 1, after(86_400)).await, 1);
    scene.credit(webhook, 1, NOW).await;
    let mut taken = 0;
    for ms in (200..=1000).step_by(200) {
        taken += scene.credit(webhook, 1, at(ms)).await;
    }
    assert!(taken >= 4, "{taken}");
}

/// The drainer has all of it, and leaves none behind.
pub async fn a_limited_or_drained_webhook_has_no_credit(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let (limited, drained) = (scene.webhook().await.id, scene.webhook().await.id);
    scene.limit(limited, 100, NOW).await;
    assert_eq!(scene.credit(limited, 10, after(1)).await, 0);
    let lease = lease("a", NOW);
    let flow = scene.take_lease(drained, &lease).await.unwrap();
    assert_eq!(scene.credit(drained, 10, after(1)).await, 0);
    let ended = end(flow.limiter, flow.limiter.epoch, after(10));
    let ended = scene.end_drain(&scene.tenant, drained, &lease, ended);
    ended.await.unwrap();
    assert_eq!(scene.credit(drained, 10, after(10)).await, 0);
    assert_eq!(scene.credit(drained, 10, at(10_200)).await, 1);
}

/// Its settings say so, from the moment they are stored.
pub async fn a_capped_webhook_is_left_to_its_drainer(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await;
    let id = webhook.id;
    assert!(!scene.flow(id).await.is_limited());
    let mut seen = NOW;
    let caps = [(Some(20), None), (None, Some(3)), (None, None)];
    for (n, (max_rate, max_in_flight)) in (1..).zip(caps) {
        let settings = WebhookSettings {
            max_rate,
            max_in_flight,
            ..webhook.settings.clone()
        };
        let limits = settings.limits();
        let change = WebhookChange {
            seen,
            settings,
            secrets: webhook.secrets.clone(),
            updated_at: after(n),
        };
        let changed = scene.change_webhook(&scene.tenant, id, change).await;
        assert_eq!(changed, Ok(Changed::Done));
        seen = after(n);
        let flow = scene.flow(id).await;
        assert_eq!(flow.is_limited(), limits.is_capped());
        assert!(!flow.limiter.limited, "its receiver is not the reason");
        let credit = scene.take_credit(&scene.tenant, id, &flow, 1, limits, after(n));
        let expected = usize::from(!limits.is_capped());
        assert_eq!(credit.await, Ok(expected), "{limits:?}");
    }
}

pub async fn one_of_many_workers_sends_the_drain_message(fixture: impl Fixture) {
    let scene = Arc::new(Scene::of(fixture.handle()));
    let webhook = scene.webhook().await.id;
    for (seen, next) in [(None, NOW), (Some(NOW), after(61))] {
        let mut workers = JoinSet::new();
        for _ in 0..8 {
            let scene = scene.clone();
            workers.spawn(async move {
                let asked = scene.ask_for_drain(&scene.tenant, webhook, seen, next);
                asked.await.unwrap()
            });
        }
        let asked = workers.join_all().await;
        let sent = asked.iter().filter(|asked| **asked == Stored::Done);
        assert_eq!(sent.count(), 1);
        assert_eq!(scene.flow(webhook).await.drain.asked_for, Some(next));
    }
}

/// A failed one waits there as a retry.
pub async fn a_drainer_claims_and_finishes_rows_of_a_backlog(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    scene.limit(webhook, 10, NOW).await;
    let (failing, fine) = (
        scene.waiting_row_at(webhook, NOW).await,
        scene.waiting_row_at(webhook, after(1)).await,
    );
    fixture.flush().await;
    assert_eq!(
        scene.waiting(webhook, AttemptKind::First).await,
        [failing, fine]
    );
    for (id, transition) in [(failing, retry_at(after(60))), (fine, Transition::Deliver)] {
        let Claim::Claimed(delivery) = scene.try_drain(id, after(2)).await else {
            panic!("{id} is free");
        };
        let held = scene.try_drain(id, after(3)).await;
        assert!(matches!(held, Claim::Unclaimable(Unclaimable::Held)));
        scene.finish(&delivery.claimed, transition, after(3)).await;
    }
    fixture.flush().await;
    assert_eq!(scene.waiting(webhook, AttemptKind::First).await, []);
    assert_eq!(scene.waiting(webhook, AttemptKind::Retry).await, [failing]);
    let early = scene.try_drain(failing, after(59)).await;
    assert!(matches!(early, Claim::Unclaimable(Unclaimable::NotDue(_))));
    assert!(matches!(
        scene.try_drain(failing, after(60)).await,
        Claim::Claimed(_)
    ));
}

/// An operator requeued it after the backlog was read. It has a message of its own, so the drainer may leave it.
pub async fn a_row_that_left_its_backlog_is_claimed_or_left_to_its_message(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let id = scene.row_at(webhook, NOW).await;
    let claim = scene.try_drain(id, after(1)).await;
    assert!(matches!(
        claim,
        Claim::Claimed(_) | Claim::Unclaimable(Unclaimable::Held)
    ));
}

/// What is due later or in flight is not counted.
pub async fn the_backlog_of_a_webhook_is_counted(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let (webhook, other) = (scene.webhook().await.id, scene.webhook().await.id);
    scene.set_status(webhook, WebhookStatus::Paused).await;
    let size = async |now| {
        fixture.flush().await;
        let size = scene.backlog_size(&scene.tenant, webhook, now).await;
        size.unwrap()
    };
    assert_eq!(size(NOW).await, BacklogSize::Exactly(0));
    scene.row_at(other, NOW).await;
    for due_at in [NOW, after(1), after(2)] {
        scene.waiting_row_at(webhook, due_at).await;
    }
    assert_eq!(size(after(1)).await, BacklogSize::Exactly(2));
    assert_eq!(size(after(2)).await, BacklogSize::Exactly(3));
}

pub async fn a_deleted_webhook_has_no_flow(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let flow = scene.flow(webhook).await;
    let seen = flow.limiter;
    let deleted = scene.delete_webhook(&scene.tenant, webhook, NOW).await;
    assert_eq!(deleted, Ok(true));
    assert!(scene.take_lease(webhook, &lease("a", NOW)).await.is_none());
    let entered = scene.enter(&scene.tenant, webhook, seen.epoch, seen, NOW);
    assert_eq!(entered.await, Ok(Stored::Outdated));
    let credit = scene.take_credit(&scene.tenant, webhook, &flow, 1, LIMITS, NOW);
    assert_eq!(credit.await, Ok(0));
    let flows = scene.flows(&[(scene.tenant.clone(), webhook)]).await;
    assert_eq!(flows, [Ok(None)]);
}
