//! A new pair of tables for one test.

pub(crate) mod faults;
pub(crate) mod gate;
mod meter;
mod metered;
mod schema;
mod servers;
mod stream;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use aws_sdk_dynamodb::config::{BehaviorVersion, Builder, Credentials, Region};
use aws_sdk_dynamodb::types::AttributeValue;
use aws_sdk_dynamodb::{Client, Config};
use futures_util::future::join_all;
use postrider_adapter_aws::dynamodb::{
    BodyBucket, DataKeys, DynamoOptions, DynamoStore, Follower, Image, Record, Tables,
};
use postrider_domain::ids::{DeliveryId, TenantId};
use postrider_domain::retention::Retention;
use postrider_domain::time::Millis;
use postrider_ports::mail_outbox::SentLog;
use postrider_ports::notifications::Notifications;
use postrider_ports::watch::{AcceptedRow, Watch};
use postrider_testkit::builders::NOW;
use postrider_testkit::interruption::Interruption;
use postrider_testkit::store_suite::{Fixture, FoundBy, Handle, WaitingRows};
use serde_json::Value;
use tokio::sync::Mutex;

use faults::Interruptions;
pub(crate) use meter::{Meter, Spent};
pub(crate) use metered::Metered;
pub(crate) use servers::{Servers, servers};
use stream::Stream;

/// A store on tables of its own.
pub(crate) struct Dynamo {
    pub(crate) servers: Servers,
    pub(crate) tables: Tables,
    pub(crate) client: Client,
    pub(crate) store: Arc<DynamoStore>,
    interruptions: Interruptions,
    key: String,
    processes: AtomicU32,
    stream: Mutex<Records>,
    /// Read on its own, by tests that play Lambda.
    events: Mutex<Stream>,
    follower: Follower,
    /// Tenants whose feed is read.
    heard: Mutex<HashSet<TenantId>>,
    settled: AtomicU32,
}

/// The records of the stream that have not been processed.
struct Records {
    stream: Stream,
    unfollowed: Vec<Record>,
    /// Those of fresh rows.
    unwatched: Vec<AcceptedRow>,
}

impl Records {
    async fn read(&mut self) {
        let more = self.stream.records().await;
        let fresh = more
            .iter()
            .filter_map(|one| one.accepted_without_lane().unwrap());
        self.unwatched.extend(fresh);
        self.unfollowed.extend(more);
    }
}

pub(crate) async fn fixture() -> Dynamo {
    let servers = tokio::task::spawn_blocking(servers).await.unwrap();
    let interruptions = Interruptions::default();
    let config = config(servers).interceptor(interruptions.clone());
    let client = Client::from_conf(config.build());
    let tables = fresh_tables();
    let arn = schema::create(&client, &tables).await;
    let made = kms(servers).create_key().send().await.unwrap();
    let key = made.key_metadata.unwrap().key_id;
    let bucket = s3(servers).create_bucket().bucket(bucket_of(&tables));
    bucket.send().await.unwrap();
    let store = open(servers, &tables, client.clone(), &key);
    Dynamo {
        servers,
        tables,
        client,
        store: Arc::clone(&store),
        interruptions,
        key,
        processes: AtomicU32::new(1),
        stream: Mutex::new(Records {
            stream: Stream::of(servers, arn.clone()),
            unfollowed: Vec::new(),
            unwatched: Vec::new(),
        }),
        events: Mutex::new(Stream::of(servers, arn)),
        follower: Follower::of(Arc::clone(&store)),
        heard: Mutex::default(),
        settled: AtomicU32::new(0),
    }
}

/// Names that no other test uses: the server outlives the tests, and it holds a single database, because with several
/// at once DynamoDB Local occasionally fails.
fn fresh_tables() -> Tables {
    let mut drawn = [0; 8];
    #[expect(clippy::disallowed_methods, reason = "a name for a table")]
    aws_lc_rs::rand::fill(&mut drawn).unwrap();
    let name = format!("{:016x}", u64::from_be_bytes(drawn));
    Tables {
        deliveries: format!("deliveries-{name}"),
        configs: format!("configs-{name}"),
    }
}

fn config(servers: Servers) -> Builder {
    Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .endpoint_url(format!("http://{}", servers.dynamodb))
        .region(Region::from_static("us-east-1"))
        .credentials_provider(credentials())
}

fn credentials() -> Credentials {
    Credentials::new("test", "test", None, None, "test")
}

fn kms(servers: Servers) -> aws_sdk_kms::Client {
    let config = aws_sdk_kms::Config::builder()
        .behavior_version(aws_sdk_kms::config::BehaviorVersion::latest())
        .endpoint_url(format!("http://{}", servers.ministack))
        .region(aws_sdk_kms::config::Region::from_static("us-east-1"))
        .credentials_provider(credentials());
    aws_sdk_kms::Client::from_conf(config.build())
}

pub(crate) fn s3(servers: Servers) -> aws_sdk_s3::Client {
    let config = aws_sdk_s3::Config::builder()
        .behavior_version(aws_sdk_s3::config::BehaviorVersion::latest())
        .endpoint_url(format!("http://{}", servers.ministack))
        .region(aws_sdk_s3::config::Region::from_static("us-east-1"))
        .credentials_provider(credentials());
    aws_sdk_s3::Client::from_conf(config.build())
}

/// The bucket of a store's large bodies.
pub(crate) fn bucket_of(tables: &Tables) -> String {
    tables.deliveries.replace("deliveries", "bodies")
}

fn open(servers: Servers, tables: &Tables, client: Client, key: &str) -> Arc<DynamoStore> {
    let options = DynamoOptions {
        tables: tables.clone(),
        retention: Retention::default(),
        bodies: Some(BodyBucket::new(s3(servers), bucket_of(tables))),
    };
    DynamoStore::new(client, DataKeys::new(kms(servers), key.to_owned()), options)
}

impl Dynamo {
    /// The configuration of a client for the tables' server.
    pub(crate) fn config(&self) -> Builder {
        config(self.servers)
    }

    /// Another store on the same tables, whose calls use this client.
    pub(crate) fn store_with(&self, client: Client) -> Arc<DynamoStore> {
        open(self.servers, &self.tables, client, &self.key)
    }

    /// The stream records that have not been followed yet.
    pub(crate) async fn changes(&self) -> Vec<Record> {
        let mut records = self.stream.lock().await;
        records.read().await;
        std::mem::take(&mut records.unfollowed)
    }

    /// The stream records that this method has not returned yet, as Lambda delivers them to a function.
    pub(crate) async fn events(&self) -> Vec<Value> {
        let mut stream = self.events.lock().await;
        let mut events = Vec::new();
        loop {
            let more = stream.events().await;
            if more.is_empty() {
                return events;
            }
            events.extend(more);
        }
    }

    /// Reads the feeds of the records' tenants from now on.
    pub(crate) async fn hear(&self, records: &[Record]) {
        let mut heard = self.heard.lock().await;
        for image in records
            .iter()
            .filter_map(|it| it.after.as_ref().or(it.before.as_ref()))
        {
            let tenant = image["pk"].as_s().unwrap().split('#').next().unwrap();
            let Ok(tenant) = tenant.parse::<TenantId>() else {
                continue;
            };
            if heard.insert(tenant.clone()) {
                self.store.listening(&tenant, NOW).await.unwrap();
            }
        }
    }

    /// As at the end of batches, half a second apart: a feed takes only so many notifications a second.
    pub(crate) async fn settle(&self, follower: &Follower, records: &[Record]) {
        for batch in records.chunks(40) {
            let settled = self.settled.fetch_add(1, Ordering::Relaxed) + 1;
            let now = NOW.plus(Millis::new(u64::from(settled) * 500));
            if settled.is_multiple_of(100) {
                for tenant in self.heard.lock().await.iter() {
                    self.store.listening(tenant, now).await.unwrap();
                }
            }
            follower.settle(batch, now).await;
        }
    }

    pub(crate) fn key(&self, tenant: &TenantId, id: DeliveryId) -> Image {
        let pk = format!("{tenant}#{}", id.event);
        let sk = format!("delivery#{}", id.webhook);
        let key = [("pk", pk), ("sk", sk)].into_iter();
        key.map(|(name, value)| (name.to_owned(), AttributeValue::S(value)))
            .collect()
    }

    /// The lane of a row.
    pub(crate) async fn lane(&self, tenant: &TenantId, id: DeliveryId) -> Option<String> {
        let call = self.client.get_item().table_name(&self.tables.deliveries);
        let call = call
            .set_key(Some(self.key(tenant, id)))
            .consistent_read(true);
        let item = call.send().await.unwrap().item.unwrap();
        let lane = item.get("lane")?;
        Some(lane.as_s().unwrap().clone())
    }

    fn process(&self) -> String {
        let process = self.processes.fetch_add(1, Ordering::Relaxed);
        format!("process-{process}")
    }
}

#[async_trait]
impl Fixture for Dynamo {
    fn handle(&self) -> Handle {
        Handle {
            embedded: None,
            waiting_rows: WaitingRows::InBacklog,
            store: Arc::clone(&self.store) as _,
            process: "process-0".to_owned(),
        }
    }

    async fn another_process(&self) -> Handle {
        Handle {
            embedded: None,
            waiting_rows: WaitingRows::InBacklog,
            store: self.store_with(self.client.clone()) as _,
            process: self.process(),
        }
    }

    fn sent_log(&self) -> Option<Arc<dyn SentLog>> {
        Some(Arc::clone(&self.store) as _)
    }

    async fn flush(&self) {
        self.follow().await;
        self.watch(0, usize::MAX).await;
    }

    /// Acts as the publisher, which writes what follows from row changes.
    async fn follow(&self) {
        loop {
            let changes = self.changes().await;
            if changes.is_empty() {
                return;
            }
            self.hear(&changes).await;
            for followed in self.follower.follow(changes.clone(), NOW).await {
                followed.unwrap();
            }
            self.settle(&self.follower, &changes).await;
        }
    }

    /// Acts as the watcher.
    async fn watch(&self, from: usize, count: usize) {
        let mut records = self.stream.lock().await;
        records.read().await;
        let left = records.unwatched.len();
        let from = from % left.max(1);
        let to = from.saturating_add(count).min(left);
        let rows = records.unwatched.get(from..to).unwrap_or_default().to_vec();
        let open = self.store.open_without_lane(rows).await.unwrap();
        self.store.give_lanes(open, NOW).await.unwrap();
        records.unwatched.drain(from..to);
    }

    async fn found_by(&self, tenant: &TenantId, rows: &[DeliveryId]) -> Vec<FoundBy> {
        let mut records = self.stream.lock().await;
        records.read().await;
        let is_unwatched = |id: DeliveryId| {
            let is_it = |row: &AcceptedRow| row.id == id && row.tenant == *tenant;
            records.unwatched.iter().any(is_it)
        };
        let lanes = join_all(rows.iter().map(|id| self.lane(tenant, *id))).await;
        let found = rows.iter().zip(lanes).map(|(id, lane)| match lane {
            Some(lane) if lane.starts_with("backlog#") => FoundBy::Drainer,
            Some(_) => FoundBy::Poller,
            None if is_unwatched(*id) => FoundBy::Watch,
            None => FoundBy::Nothing,
        });
        found.collect()
    }

    fn interrupt(&self, interruption: Option<Interruption>) {
        self.interruptions.set(interruption);
    }
}
