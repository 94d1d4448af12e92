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
use aws_sdk_dynamodb::{Client, Config};
use postrider_adapter_aws::dynamodb::{
    DataKeys, DynamoOptions, DynamoStore, Follower, Record, Tables,
};
use postrider_domain::ids::TenantId;
use postrider_domain::retention::Retention;
use postrider_domain::time::Millis;
use postrider_ports::notifications::Notifications;
use postrider_testkit::builders::NOW;
use postrider_testkit::store_suite::{Fixture, Handle, WaitingRows};
use tokio::sync::Mutex;

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
    key: String,
    processes: AtomicU32,
    stream: Mutex<Stream>,
    follower: Follower,
    /// Tenants whose feed is read.
    heard: Mutex<HashSet<TenantId>>,
    settled: AtomicU32,
}

pub(crate) async fn fixture() -> Dynamo {
    let servers = tokio::task::spawn_blocking(servers).await.unwrap();
    let client = Client::from_conf(config(servers).build());
    let tables = fresh_tables();
    let arn = schema::create(&client, &tables).await;
    let made = kms(servers).create_key().send().await.unwrap();
    let key = made.key_metadata.unwrap().key_id;
    let store = open(servers, &tables, client.clone(), &key);
    Dynamo {
        servers,
        tables,
        client,
        store: Arc::clone(&store),
        key,
        processes: AtomicU32::new(1),
        stream: Mutex::new(Stream::of(servers, arn)),
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

fn open(servers: Servers, tables: &Tables, client: Client, key: &str) -> Arc<DynamoStore> {
    let options = DynamoOptions {
        tables: tables.clone(),
        retention: Retention::default(),
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
        let mut stream = self.stream.lock().await;
        let mut changes = Vec::new();
        loop {
            let more = stream.records().await;
            if more.is_empty() {
                return changes;
            }
            changes.extend(more);
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

    /// Acts as the publisher, which writes what follows from row changes.
    async fn flush(&self) {
        let mut stream = self.stream.lock().await;
        loop {
            let records = stream.records().await;
            if records.is_empty() {
                return;
            }
            self.hear(&records).await;
            for followed in self.follower.follow(records.clone(), NOW).await {
                followed.unwrap();
            }
            self.settle(&self.follower, &records).await;
        }
    }
}
