//! The store suite on the DynamoDB of the simulation: what it promises to be is what the adapter needs.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code"
)]

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use aws_lambda_events::event::dynamodb::EventRecord;
use aws_sdk_s3::config::retry::RetryConfig;
use aws_sdk_s3::config::{
    BehaviorVersion, Credentials, Region, RequestChecksumCalculation, ResponseChecksumValidation,
    SharedHttpClient,
};
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use postrider_adapter_aws::dynamodb::{
    BodyBucket, DataKeys, DynamoOptions, DynamoStore, Follower, Image, Record, Tables,
};
use postrider_domain::ids::{DeliveryId, TenantId};
use postrider_domain::retention::Retention;
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::mail_outbox::SentLog;
use postrider_ports::notifications::Notifications;
use postrider_ports::watch::{AcceptedRow, Watch};
use postrider_simulation::dynamodb::{
    Database, ItemChange, NoAnswer, Prompt, Request, SdkResponse, Transport, http_client,
    key_service, schema,
};
use postrider_testkit::builders::NOW;
use postrider_testkit::interruption::{Fault, Interruption};
use postrider_testkit::store_suite::{Fixture, FoundBy, Handle, WaitingRows};

const TABLE: &str = "deliveries";
const CONFIGS: &str = "configs";

/// DynamoDB, KMS and S3 in memory.
struct Services {
    database: Mutex<Database>,
    objects: Mutex<BTreeMap<String, Bytes>>,
}

impl Services {
    fn answer(&self, request: &Request) -> SdkResponse {
        let Some((service, operation)) = request.target.split_once('.') else {
            return self.object(request);
        };
        let body = serde_json::from_slice(&request.body).unwrap();
        match service {
            "TrentService" => key_service(operation, &body).into(),
            _ => self
                .database
                .lock()
                .handle(operation, &body, &mut Prompt)
                .into(),
        }
    }

    fn object(&self, request: &Request) -> SdkResponse {
        let mut objects = self.objects.lock();
        let source = request
            .copy_source
            .as_ref()
            .map(|source| format!("/{source}"));
        let found = objects
            .get(source.as_ref().unwrap_or(&request.path))
            .cloned();
        let (status, body) = match (request.method.as_str(), found) {
            ("GET", Some(body)) => (200, body),
            ("PUT", Some(body)) if source.is_some() => {
                objects.insert(request.path.clone(), body);
                (
                    200,
                    Bytes::from_static(b"<CopyObjectResult><ETag>x</ETag></CopyObjectResult>"),
                )
            }
            ("PUT", _) if source.is_none() => {
                objects.insert(request.path.clone(), request.body.clone());
                (200, Bytes::new())
            }
            (_, _) => (
                404,
                Bytes::from_static(b"<Error><Code>NoSuchKey</Code></Error>"),
            ),
        };
        SdkResponse { status, body }
    }
}

/// Answers at once, unless it is interrupted.
struct Prompted {
    services: Arc<Services>,
    /// With the number of calls since it began.
    interruption: Mutex<Option<(Interruption, usize)>>,
}

impl Prompted {
    fn fault(&self) -> Option<Fault> {
        let mut interruption = self.interruption.lock();
        let (interruption, calls) = interruption.as_mut()?;
        *calls += 1;
        let is_struck = interruption.calls.contains(&(*calls - 1));
        is_struck.then_some(interruption.fault)
    }
}

impl Transport for Prompted {
    fn call(&self, request: Request) -> BoxFuture<'static, Result<SdkResponse, NoAnswer>> {
        let answer = match self.fault() {
            None => Ok(self.services.answer(&request)),
            Some(Fault::Unreachable) => Err(NoAnswer),
            Some(Fault::AnswerLost) => {
                self.services.answer(&request);
                Err(NoAnswer)
            }
            Some(Fault::Throttled) => Ok(SdkResponse {
                status: 400,
                body: Bytes::from_static(br#"{"__type":"ThrottlingException"}"#),
            }),
        };
        async { answer }.boxed()
    }
}

struct Memory {
    services: Arc<Services>,
    transport: Arc<Prompted>,
    client: SharedHttpClient,
    store: Arc<DynamoStore>,
    follower: Follower,
    processes: AtomicU32,
    settled: AtomicU32,
    stream: tokio::sync::Mutex<Records>,
    heard: Mutex<HashSet<TenantId>>,
}

/// The records of the stream that have not been processed.
#[derive(Default)]
struct Records {
    unfollowed: Vec<Record>,
    unwatched: Vec<AcceptedRow>,
}

async fn fixture() -> Memory {
    let services = Arc::new(Services {
        database: Mutex::new(Database::new(schema(TABLE, CONFIGS))),
        objects: Mutex::default(),
    });
    let transport = Arc::new(Prompted {
        services: Arc::clone(&services),
        interruption: Mutex::default(),
    });
    let client = http_client(Arc::clone(&transport) as _);
    let store = open(&client);
    Memory {
        services,
        transport,
        client,
        follower: Follower::of(Arc::clone(&store)),
        store,
        processes: AtomicU32::new(1),
        settled: AtomicU32::new(0),
        stream: tokio::sync::Mutex::default(),
        heard: Mutex::default(),
    }
}

macro_rules! config {
    ($sdk:ident, $client:expr) => {
        $sdk::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::from_static("us-east-1"))
            .credentials_provider(Credentials::new("test", "test", None, None, "test"))
            .retry_config(RetryConfig::disabled())
            .http_client($client.clone())
    };
}

fn open(client: &SharedHttpClient) -> Arc<DynamoStore> {
    let s3 = config!(aws_sdk_s3, client)
        .force_path_style(true)
        .request_checksum_calculation(RequestChecksumCalculation::WhenRequired)
        .response_checksum_validation(ResponseChecksumValidation::WhenRequired);
    let s3 = aws_sdk_s3::Client::from_conf(s3.build());
    let kms = aws_sdk_kms::Client::from_conf(config!(aws_sdk_kms, client).build());
    let dynamodb = config!(aws_sdk_dynamodb, client).build();
    let options = DynamoOptions {
        tables: Tables {
            deliveries: TABLE.to_owned(),
            configs: CONFIGS.to_owned(),
        },
        retention: Retention::default(),
        bodies: Some(BodyBucket::new(s3, "bodies".to_owned())),
    };
    let data_keys = DataKeys::new(kms, "key".to_owned());
    DynamoStore::new(
        aws_sdk_dynamodb::Client::from_conf(dynamodb),
        data_keys,
        options,
    )
}

fn record(change: &ItemChange) -> Record {
    let record: EventRecord = serde_json::from_value(change.record()).unwrap();
    let image = |item| {
        let image = Image::from(item);
        (!image.is_empty()).then_some(image)
    };
    Record {
        id: record.event_id,
        before: image(record.change.old_image),
        after: image(record.change.new_image),
        at: Timestamp::from_millis(
            record
                .change
                .approximate_creation_date_time
                .timestamp_millis(),
        ),
    }
}

impl Memory {
    fn read(&self, records: &mut Records) {
        let changes = self.services.database.lock().take_changes(TABLE);
        let more: Vec<_> = changes.iter().map(record).collect();
        let fresh = more
            .iter()
            .filter_map(|one| one.accepted_without_lane().unwrap());
        records.unwatched.extend(fresh);
        records.unfollowed.extend(more);
    }

    /// Reads the feeds of the records' tenants. A listener is good for a minute.
    async fn hear(&self, records: &[Record], batches: u32, now: Timestamp) {
        let mut heard = self.heard.lock().clone();
        let mut listening = HashSet::new();
        let images = records
            .iter()
            .filter_map(|it| it.after.as_ref().or(it.before.as_ref()));
        for image in images {
            let tenant = image["pk"].as_s().unwrap().split('#').next().unwrap();
            if let Ok(tenant) = tenant.parse::<TenantId>()
                && heard.insert(tenant.clone())
            {
                listening.insert(tenant);
            }
        }
        if batches.is_multiple_of(100) {
            listening.clone_from(&heard);
        }
        *self.heard.lock() = heard;
        for tenant in listening {
            self.store.listening(&tenant, now).await.unwrap();
        }
    }

    fn lane(&self, tenant: &TenantId, id: DeliveryId) -> Option<String> {
        let (pk, sk) = (
            format!("{tenant}#{}", id.event),
            format!("delivery#{}", id.webhook),
        );
        let database = self.services.database.lock();
        let lane = database.item(TABLE, &pk, &sk).unwrap().get("lane")?;
        lane["S"].as_str().map(ToOwned::to_owned)
    }

    fn handle_of(store: Arc<DynamoStore>, process: u32) -> Handle {
        Handle {
            embedded: None,
            waiting_rows: WaitingRows::InBacklog,
            store,
            process: format!("process-{process}"),
        }
    }
}

#[async_trait]
impl Fixture for Memory {
    fn handle(&self) -> Handle {
        Self::handle_of(Arc::clone(&self.store), 0)
    }

    async fn another_process(&self) -> Handle {
        let process = self.processes.fetch_add(1, Ordering::Relaxed);
        Self::handle_of(open(&self.client), process)
    }

    fn sent_log(&self) -> Option<Arc<dyn SentLog>> {
        Some(Arc::clone(&self.store) as _)
    }

    async fn flush(&self) {
        self.follow().await;
        self.watch(0, usize::MAX).await;
    }

    /// Acts as the publisher.
    async fn follow(&self) {
        loop {
            let mut records = self.stream.lock().await;
            self.read(&mut records);
            let changes = std::mem::take(&mut records.unfollowed);
            drop(records);
            if changes.is_empty() {
                return;
            }
            for followed in self.follower.follow(changes.clone(), NOW).await {
                followed.unwrap();
            }
            // Half a second apart: a feed takes only so many notifications a second.
            for batch in changes.chunks(40) {
                let settled = self.settled.fetch_add(1, Ordering::Relaxed) + 1;
                let now = NOW.plus(Millis::new(u64::from(settled) * 500));
                self.hear(batch, settled, now).await;
                self.follower.settle(batch, now).await;
            }
        }
    }

    /// Acts as the watcher.
    async fn watch(&self, from: usize, count: usize) {
        let mut records = self.stream.lock().await;
        self.read(&mut records);
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
        self.read(&mut records);
        let is_unwatched = |id: DeliveryId| {
            let is_it = |row: &AcceptedRow| row.id == id && row.tenant == *tenant;
            records.unwatched.iter().any(is_it)
        };
        let found = rows.iter().map(|id| match self.lane(tenant, *id) {
            Some(lane) if lane.starts_with("backlog#") => FoundBy::Drainer,
            Some(_) => FoundBy::Poller,
            None if is_unwatched(*id) => FoundBy::Watch,
            None => FoundBy::Nothing,
        });
        found.collect()
    }

    fn interrupt(&self, interruption: Option<Interruption>) {
        *self.transport.interruption.lock() = interruption.map(|one| (one, 0));
    }
}

postrider_testkit::store_suite!(fixture);

#[test]
fn store_and_model_agree() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let fixture = runtime.block_on(fixture());
    postrider_testkit::model::check(&fixture, &runtime, 50);
}

#[test]
fn store_and_record_model_agree() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let fixture = runtime.block_on(fixture());
    postrider_testkit::record_model::check(&fixture, &runtime, 50);
}
