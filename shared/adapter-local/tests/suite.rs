//! The store suite and the model on SQLite.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use postrider_adapter_local::{SqliteOptions, SqliteStore};
use postrider_ports::EmbeddedStore;
use postrider_testkit::store_suite::{EmbeddedFixture, Fixture, Handle, WaitingRows};
use tempfile::TempDir;

struct Sqlite {
    // Declared before the directory, so that it is closed before the directory is deleted. Empty while it is opened again.
    store: Mutex<Option<Arc<SqliteStore>>>,
    dir: TempDir,
}

async fn fixture() -> Sqlite {
    let dir = tempfile::tempdir().unwrap();
    let store = Mutex::new(Some(open(&dir).await));
    Sqlite { store, dir }
}

async fn open(dir: &TempDir) -> Arc<SqliteStore> {
    let path = dir.path().to_owned();
    let opening = move || SqliteStore::open(&path, SqliteOptions::default()).unwrap();
    tokio::task::spawn_blocking(opening).await.unwrap()
}

impl Sqlite {
    fn store(&self) -> Arc<SqliteStore> {
        self.store.lock().clone().unwrap()
    }
}

fn handle(store: &Arc<SqliteStore>) -> Handle {
    let process = store.process().to_owned();
    Handle {
        store: Arc::clone(store) as _,
        embedded: Some(Arc::clone(store) as _),
        waiting_rows: WaitingRows::Unmarked,
        process,
    }
}

#[async_trait]
impl Fixture for Sqlite {
    fn handle(&self) -> Handle {
        handle(&self.store())
    }

    async fn another_process(&self) -> Handle {
        handle(&open(&self.dir).await)
    }

    async fn reopen(&self) -> Handle {
        let store = self.store.lock().take().unwrap();
        let store = Arc::into_inner(store).expect("its handles are dropped");
        let closing = tokio::task::spawn_blocking(move || drop(store));
        closing.await.unwrap();
        let store = open(&self.dir).await;
        *self.store.lock() = Some(Arc::clone(&store));
        handle(&store)
    }
}

impl EmbeddedFixture for Sqlite {
    fn embedded(&self) -> Arc<dyn EmbeddedStore> {
        self.store() as _
    }
}

postrider_testkit::store_suite!(fixture);
postrider_testkit::embedded_suite!(fixture);

#[test]
fn store_and_model_agree() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let fixture = runtime.block_on(fixture());
    postrider_testkit::model::check(&fixture, &runtime, 96);
}
