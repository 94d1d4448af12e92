//! Erasures in slices: shared by two processes, and waiting for what is in flight.

use std::sync::Arc;

use futures_util::future::join_all;
use postrider_adapter_local::{SqliteOptions, SqliteStore};
use postrider_domain::event::{Event, Label};
use postrider_domain::ids::{DeliveryId, ErasureId, KeyId, TenantId};
use postrider_domain::tenant::{Tenant, TenantDraft, TenantLimits};
use postrider_domain::time::Millis;
use postrider_gateway::Ports;
use postrider_gateway::erasing::Erasing;
use postrider_ports::clock::Clock;
use postrider_ports::erasures::{Erasure, Subject};
use postrider_testkit::builders::{NOW, after};
use postrider_testkit::clock::{CountedEntropy, SteppedClock};
use postrider_testkit::store_suite::{Handle, Scene, WaitingRows};

const KEY: KeyId = KeyId::from_bytes([7; 16]);

struct Archive {
    _directory: tempfile::TempDir,
    scene: Scene,
    clock: Arc<SteppedClock>,
}

impl Archive {
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

    /// As one process erases.
    fn erasing(&self, seed: u64) -> Erasing {
        let ports: Ports = Ports {
            store: Arc::clone(&self.scene.handle.store),
            clock: Arc::clone(&self.clock) as Arc<dyn Clock>,
            entropy: Arc::new(CountedEntropy::seeded(seed)),
        };
        Erasing::new(ports).in_slices_of(3)
    }

    /// Events of one session, for two webhooks each.
    async fn publish(&self, count: u32) -> Vec<DeliveryId> {
        let webhooks = [self.scene.webhook().await.id, self.scene.webhook().await.id];
        let mut ids = Vec::new();
        for _ in 0..count {
            let event = Event {
                session_id: Some(session()),
                ..self.scene.event(NOW)
            };
            let of_event = webhooks.map(|webhook| DeliveryId {
                event: event.id,
                webhook,
            });
            ids.extend(of_event);
            let acceptance = self.scene.plan(event, &webhooks).await;
            self.scene.accept_new(acceptance).await;
        }
        ids
    }

    async fn unfinished(&self) -> Vec<Erasure> {
        let found = self.scene.unfinished_erasures().await.unwrap();
        found.into_iter().map(|(_, erasure)| erasure).collect()
    }
}

fn session() -> Label {
    "customer-42".parse().unwrap()
}

#[tokio::test]
async fn two_processes_erase_a_session_and_count_each_event_once() {
    let archive = Archive::new();
    let ids = archive.publish(40).await;
    let tenant = &archive.scene.tenant;
    let processes = [archive.erasing(1), archive.erasing(2)];
    let begun = processes[0].erase_session(tenant, session(), KEY).await;
    let begun = begun.unwrap();
    assert!(!begun.has_ended(), "larger than what the call does itself");
    assert!(begun.erased.events < 40);
    // Many more than there are slices: one process may read while the other wants to empty the log, which then has to wait.
    for _ in 0..10_000 {
        let Some(erasure) = archive.unfinished().await.pop() else {
            break;
        };
        let both = processes
            .iter()
            .map(|one| one.carry_on(tenant, erasure.clone()));
        for done in join_all(both).await {
            done.unwrap();
        }
    }
    let ended = processes[0].get(tenant, begun.id).await.unwrap();
    assert!(ended.has_ended());
    assert_eq!((ended.erased.events, ended.erased.deliveries), (40, 80));
    assert_eq!((ended.by, ended.ended_at), (KEY, Some(after(1))));
    for id in ids {
        assert!(archive.scene.stored(id).await.is_erased());
    }
}

#[tokio::test]
async fn an_erasure_waits_for_an_attempt_without_asking_all_the_time() {
    let archive = Archive::new();
    let ids = archive.publish(1).await;
    let claimed = archive.scene.claimed(ids[0], after(1)).await;
    let (tenant, erasing) = (&archive.scene.tenant, archive.erasing(1));
    let begun = erasing
        .erase_event(tenant, ids[0].event, KEY)
        .await
        .unwrap();
    let progress = begun.progress.unwrap();
    assert!(progress.not_before > after(1), "{progress:?}");
    let deliver = postrider_domain::decide::Transition::Deliver;
    archive.scene.finish(&claimed, deliver, after(2)).await;
    archive.clock.advance(Millis::from_seconds(5));
    let [waiting] = <[Erasure; 1]>::try_from(archive.unfinished().await).unwrap();
    let ended = erasing.carry_on(tenant, waiting).await.unwrap();
    assert!(ended.has_ended());
    assert_eq!(ended.erased.deliveries, 2);
    assert!(archive.scene.stored(ids[0]).await.is_erased());
}

/// Of two calls that delete a tenant, one has lost and was interrupted. It must not delete a tenant that gets the id later.
#[tokio::test]
async fn an_old_deletion_leaves_a_later_tenant_of_this_id_alone() {
    let archive = Archive::new();
    let (store, erasing) = (&archive.scene.handle.store, archive.erasing(1));
    let owner = TenantId::default();
    let id: TenantId = "acme".parse().unwrap();
    let record = || {
        let draft = TenantDraft {
            name: "Acme".to_owned(),
            limits: TenantLimits::default(),
        };
        let now = archive.clock.now();
        Tenant::unrecorded(id.clone()).changed(&draft, now).unwrap()
    };
    store.put_tenant(record(), None).await.unwrap();
    let subject = Subject::Tenant { tenant: id.clone() };
    let lost = ErasureId::new(archive.clock.now(), &[9; 10]);
    let lost = Erasure::new(lost, subject, KEY, archive.clock.now());
    store.create_erasure(&owner, lost.clone()).await.unwrap();
    archive.clock.advance(Millis::from_seconds(1));
    let won = erasing.delete_tenant(&owner, &id, KEY).await.unwrap();
    for _ in 0..100 {
        archive.clock.advance(Millis::from_seconds(5));
        let open = erasing.get(&owner, won.id).await.unwrap();
        erasing.carry_on(&owner, open).await.unwrap();
    }
    assert!(erasing.get(&owner, won.id).await.unwrap().has_ended());
    store.put_tenant(record(), None).await.unwrap();
    let ended = erasing.carry_on(&owner, lost).await.unwrap();
    assert!(ended.has_ended());
    let later = store.tenant(&id).await.unwrap().unwrap();
    assert_eq!(later.deletion, None);
}
