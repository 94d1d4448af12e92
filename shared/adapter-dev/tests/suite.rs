//! The store suite and the model over the wire: a client, a server, and SQLite behind it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "test code: a failed expectation panics with its location"
)]

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use postrider_adapter_dev::{DevQueue, DevStore, Pass, Served, router};
use postrider_adapter_local::{SqliteOptions, SqliteStore};
use postrider_domain::ids::{DeliveryId, EventId, TenantId, WebhookId};
use postrider_domain::time::Timestamp;
use postrider_ports::queue::{AttemptMessage, Queue, QueueMessage};
use postrider_ports::{Error, Result};
use postrider_testkit::store_suite::{Fixture, Handle, WaitingRows};
use tempfile::TempDir;
use tokio::net::TcpListener;

/// A queue that records what it is sent, and rejects messages of another tenant.
#[derive(Default)]
struct RecordingQueue(Mutex<Vec<QueueMessage>>);

#[async_trait]
impl Queue for RecordingQueue {
    async fn send(&self, messages: Vec<QueueMessage>) -> Vec<Result<()>> {
        let take = |message: QueueMessage| {
            let QueueMessage::Attempt(attempt) = &message else {
                return Err(Error::Broken("only attempts are sent here".into()));
            };
            if attempt.tenant == TenantId::default() {
                self.0.lock().push(message);
                Ok(())
            } else {
                Err(Error::Unavailable("another tenant".to_owned()))
            }
        };
        messages.into_iter().map(take).collect()
    }

    async fn depth(&self) -> Result<u64> {
        Ok(self.0.lock().len() as u64)
    }
}

struct Dev {
    url: String,
    queue: Arc<RecordingQueue>,
    // Declared before the directory, so that it is closed before the directory is deleted.
    store: Arc<DevStore>,
    dir: TempDir,
}

async fn fixture() -> Dev {
    let dir = tempfile::tempdir().unwrap();
    let queue = Arc::new(RecordingQueue::default());
    let url = serve(&dir, Arc::clone(&queue)).await;
    Dev {
        store: Arc::new(DevStore::connect(&url).await.unwrap()),
        url,
        queue,
        dir,
    }
}

/// A server with its own store in the directory. It ends with the test's runtime.
async fn serve(dir: &TempDir, queue: Arc<RecordingQueue>) -> String {
    let path = dir.path().to_owned();
    let opening = move || SqliteStore::open(&path, SqliteOptions::default()).unwrap();
    let store = tokio::task::spawn_blocking(opening).await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let pass = Pass::new([7; 32]);
    let url = pass.url(listener.local_addr().unwrap());
    let served = Served {
        process: store.process().to_owned(),
        store,
        queue,
    };
    let router = router(served, pass).unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

fn handle(store: &Arc<DevStore>) -> Handle {
    Handle {
        embedded: None,
        waiting_rows: WaitingRows::Unmarked,
        process: store.process().to_owned(),
        store: Arc::clone(store) as _,
    }
}

#[async_trait]
impl Fixture for Dev {
    fn handle(&self) -> Handle {
        handle(&self.store)
    }

    async fn another_process(&self) -> Handle {
        let url = serve(&self.dir, Arc::clone(&self.queue)).await;
        handle(&Arc::new(DevStore::connect(&url).await.unwrap()))
    }
}

postrider_testkit::store_suite!(fixture);

#[test]
fn store_and_model_agree() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let fixture = runtime.block_on(fixture());
    postrider_testkit::model::check(&fixture, &runtime, 16);
}

fn message(tenant: &str) -> QueueMessage {
    QueueMessage::Attempt(AttemptMessage {
        tenant: tenant.parse().unwrap(),
        id: DeliveryId {
            event: EventId::from_bytes([1; 16]),
            webhook: WebhookId::from_bytes([2; 16]),
        },
        next_retry_at: Timestamp::from_millis(1_700_000_000_123),
        fresh: false,
    })
}

#[tokio::test]
async fn queue_messages_arrive_and_each_gets_a_result() {
    let dev = fixture().await;
    let queue = DevQueue::connect(&dev.url).unwrap();
    let sent = queue.send(vec![message("default"), message("other")]).await;
    let rejected = Err(Error::Unavailable("another tenant".to_owned()));
    assert_eq!(sent, [Ok(()), rejected]);
    assert_eq!(*dev.queue.0.lock(), [message("default")]);
    assert_eq!(queue.depth().await, Ok(1));
}

#[tokio::test]
async fn a_client_without_the_pass_is_rejected() {
    let dev = fixture().await;
    let (origin, _) = Pass::from_url(&dev.url).unwrap();
    let address = origin.socket_addrs(|| None).unwrap()[0];
    let wrong = Pass::new([8; 32]).url(address);
    let error = DevStore::connect(&wrong).await.err().unwrap();
    assert!(!error.is_transient(), "{error}");
    let queue = DevQueue::connect(&wrong).unwrap();
    assert!(queue.send(vec![message("default")]).await[0].is_err());
    assert_eq!(dev.queue.0.lock().len(), 0);
}

#[tokio::test]
async fn a_server_that_is_gone_is_a_transient_error_for_each_item() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Pass::new([7; 32]).url(listener.local_addr().unwrap());
    drop(listener);
    let queue = DevQueue::connect(&url).unwrap();
    let sent = queue
        .send(vec![message("default"), message("default")])
        .await;
    assert_eq!(sent.len(), 2);
    for result in sent {
        let error = result.unwrap_err();
        assert!(error.is_transient(), "{error}");
    }
}
