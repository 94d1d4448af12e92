//! The store suite and the model on SQLite.
#![allow(clippy::unwrap_used, reason = "test code")]

use async_trait::async_trait;
use postrider_adapter_local::{Options, SqliteStore};
use postrider_testkit::store_suite::{Fixture, Handle};
use tempfile::TempDir;

struct Sqlite {
    // Before the directory, so that it is closed when that is removed.
    handle: Handle,
    dir: TempDir,
}

async fn fixture() -> Sqlite {
    let dir = tempfile::tempdir().unwrap();
    let handle = open(&dir).await;
    Sqlite { handle, dir }
}

async fn open(dir: &TempDir) -> Handle {
    let path = dir.path().to_owned();
    let opening = move || SqliteStore::open(&path, Options::default()).unwrap();
    let store = tokio::task::spawn_blocking(opening).await.unwrap();
    let process = store.process().to_owned();
    Handle { store, process }
}

#[async_trait]
impl Fixture for Sqlite {
    fn handle(&self) -> Handle {
        self.handle.clone()
    }

    async fn another_process(&self) -> Handle {
        open(&self.dir).await
    }
}

postrider_testkit::store_suite!(fixture);

#[test]
fn store_and_model_agree() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let fixture = runtime.block_on(fixture());
    postrider_testkit::model::check(&fixture, &runtime, 64);
}
