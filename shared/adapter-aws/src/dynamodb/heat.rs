//! How hot the keys get: what 10,000 deliveries per second write and read under each partition key, computed with the key
//! functions of the store. DynamoDB takes 1,000 write and 3,000 read units per second for one key.

use std::collections::{BTreeMap, BTreeSet};

use postrider_domain::delivery::{Lane, Status};
use postrider_domain::event::Label;
use postrider_domain::flow::AttemptKind;
use postrider_domain::ids::{DeliveryId, EventId, TenantId, WebhookId};
use postrider_domain::key::KeyDigest;
use postrider_domain::time::Timestamp;

use super::keys::{self, Key};
use super::version;

const PER_SECOND: usize = 10_000;
const MAX_WRITES: f64 = 1000.0;
const MAX_READS: f64 = 3000.0;
/// The messages of a dispatcher's batch.
const MESSAGES: usize = 10;
/// The changes of a publisher's batch: its window is a second, and each of 25 stream shards has four publishers at most.
const CHANGES: usize = 100;
/// Processes of the api function. Each reads an API key once in five seconds.
const APIS: f64 = 500.0;
/// A notification in the feed has about 1.5 KB.
const NOTIFICATION_UNITS: f64 = 1.5;
/// What a feed takes per second: a hundred notifications.
const FEED_UNITS: f64 = 150.0;
/// How many deliveries fail at first: one in this many.
const FAILING: usize = 10;

/// Tenants with the same number of webhooks each, and one session per webhook.
#[derive(Clone, Copy)]
struct Load {
    tenants: usize,
    webhooks: usize,
}

#[derive(Default)]
struct Heat {
    writes: BTreeMap<String, f64>,
    reads: BTreeMap<String, f64>,
}

impl Heat {
    fn write(&mut self, key: impl Into<String>, units: f64) {
        *self.writes.entry(key.into()).or_default() += units;
    }

    fn read(&mut self, key: impl Into<String>, units: f64) {
        *self.reads.entry(key.into()).or_default() += units;
    }

    fn hottest(of: &BTreeMap<String, f64>) -> (String, f64) {
        let hottest = of
            .iter()
            .max_by(|(_, one), (_, other)| one.total_cmp(other));
        hottest.map(|(key, units)| (key.clone(), *units)).unwrap()
    }
}

/// A generator without a crate: the same numbers in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn bytes(&mut self) -> [u8; 16] {
        let mut bytes = [0; 16];
        let (one, other) = bytes.split_at_mut(8);
        one.copy_from_slice(&self.next().to_be_bytes());
        other.copy_from_slice(&self.next().to_be_bytes());
        bytes
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }
}

struct Planned {
    tenant: TenantId,
    id: DeliveryId,
    session: Label,
}

/// One second's deliveries, each to any webhook.
fn second(load: Load) -> Vec<Planned> {
    let mut random = Random(1);
    let webhooks: Vec<(TenantId, WebhookId, Label)> = (0..load.tenants * load.webhooks)
        .map(|n| {
            let tenant = format!("tenant-{}", n / load.webhooks).parse().unwrap();
            let session = format!("session-{n}").parse().unwrap();
            (tenant, WebhookId::from_bytes(random.bytes()), session)
        })
        .collect();
    let delivery = |_| {
        let (tenant, webhook, session) = webhooks[random.below(webhooks.len())].clone();
        let event = EventId::from_bytes(random.bytes());
        let id = DeliveryId { event, webhook };
        Planned {
            tenant,
            id,
            session,
        }
    };
    (0..PER_SECOND).map(delivery).collect()
}

/// Accepting: one event, row and entry in each index for every delivery, and one version for every request.
fn accept(heat: &mut Heat, deliveries: &[Planned]) {
    for Planned {
        tenant,
        id,
        session,
    } in deliveries
    {
        let shard = keys::shard_of(*id);
        heat.read(Key::version(tenant, version::any_copy()).pk, 1.0);
        heat.write(Key::event(tenant, id.event).pk, 1.0);
        heat.write(Key::delivery(tenant, *id).pk, 1.0);
        heat.write(keys::recent(tenant, shard), 1.0);
        heat.write(keys::by_webhook(tenant, id.webhook, shard), 1.0);
        heat.write(keys::by_session(tenant, session, shard), 1.0);
    }
    let tenants: BTreeSet<_> = deliveries.iter().map(|one| one.tenant.as_str()).collect();
    for tenant in tenants {
        let digest = KeyDigest::of(tenant);
        heat.read(Key::digest(digest).pk, APIS / 5.0);
    }
}

/// Claims and results; of those that fail, also the entries of the retry, the attempt's item and the credit.
fn attempt(heat: &mut Heat, deliveries: &[Planned]) {
    for batch in deliveries.chunks(MESSAGES) {
        let webhooks = batch.iter().map(|one| (&one.tenant, one.id.webhook));
        for (tenant, webhook) in webhooks.collect::<BTreeSet<_>>() {
            heat.read(Key::flow(tenant, webhook).pk, 1.0);
        }
    }
    for (n, Planned { tenant, id, .. }) in deliveries.iter().enumerate() {
        let row = Key::delivery(tenant, *id).pk;
        heat.read(Key::event(tenant, id.event).pk, 1.0);
        heat.write(row.clone(), 2.0);
        if n.is_multiple_of(FAILING) {
            let shard = keys::shard_of(*id);
            let lane = keys::lane(Lane::Queued, id.webhook, AttemptKind::Retry, shard);
            heat.write(Key::attempt(tenant, *id, 1).pk, 1.0);
            heat.write(lane, 2.0);
            heat.write(keys::trouble(tenant, Status::Failed, shard).unwrap(), 2.0);
            heat.read(row.clone(), 1.0);
            heat.write(row, 2.0);
            heat.write(Key::flow(tenant, id.webhook).pk, 1.0);
        }
    }
}

/// State, counters and feed, once per webhook or tenant and batch.
fn publish(heat: &mut Heat, deliveries: &[Planned]) {
    let changes: Vec<_> = deliveries.iter().enumerate().collect();
    for batch in changes.chunks(CHANGES) {
        let mut webhooks = BTreeMap::new();
        for (n, one) in batch {
            let failed = webhooks
                .entry((&one.tenant, one.id.webhook))
                .or_insert(false);
            *failed |= n.is_multiple_of(FAILING);
        }
        for ((tenant, webhook), failed) in webhooks {
            heat.read(Key::state(tenant, webhook).pk, 1.0);
            heat.write(Key::stats(tenant, webhook, Timestamp::ZERO).pk, 1.0);
            if failed {
                heat.write(Key::state(tenant, webhook).pk, 1.0);
            }
        }
        let tenants: BTreeSet<_> = batch.iter().map(|(_, one)| &one.tenant).collect();
        for tenant in tenants {
            // It reserves room, and most publishers get none: they write a gap.
            heat.write(Key::feed_second(tenant, Timestamp::ZERO).pk, 1.0);
            heat.write(Key::feed(tenant, 0).pk, 1.0);
        }
    }
    let mut notified = BTreeMap::new();
    for one in deliveries {
        *notified.entry(&one.tenant).or_insert(0.0) += NOTIFICATION_UNITS;
    }
    for (tenant, units) in notified {
        heat.write(Key::feed(tenant, 0).pk, FEED_UNITS.min(units));
    }
}

fn heat(load: Load) -> Heat {
    let (mut heat, deliveries) = (Heat::default(), second(load));
    accept(&mut heat, &deliveries);
    attempt(&mut heat, &deliveries);
    publish(&mut heat, &deliveries);
    heat
}

#[test]
fn no_key_is_hotter_than_a_partition_takes_at_10_000_deliveries_per_second() {
    for load in [
        Load {
            tenants: 1,
            webhooks: 2,
        },
        Load {
            tenants: 1,
            webhooks: 100,
        },
        Load {
            tenants: 1000,
            webhooks: 1,
        },
        Load {
            tenants: 1000,
            webhooks: 20,
        },
    ] {
        let heat = heat(load);
        let (written, writes) = Heat::hottest(&heat.writes);
        let (read, reads) = Heat::hottest(&heat.reads);
        println!(
            "{} tenants with {} webhooks each: {writes} W for {written}, {reads} R for {read}",
            load.tenants, load.webhooks
        );
        assert!(writes <= MAX_WRITES, "{writes} write units for {written}");
        assert!(reads <= MAX_READS, "{reads} read units for {read}");
    }
}
