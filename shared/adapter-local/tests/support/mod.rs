//! A store in a directory of its own.

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use postrider_adapter_local::{SqliteOptions, SqliteStore};
use postrider_ports::EmbeddedStore;
use postrider_testkit::interruption::{Fault, Interruption};
use postrider_testkit::store_suite::{EmbeddedFixture, Fixture, Handle, WaitingRows};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tempfile::TempDir;

pub(crate) struct Sqlite {
    // Declared before the directory, so that it is closed before the directory is deleted. Empty while it is opened again.
    store: Mutex<Option<Arc<SqliteStore>>>,
    dir: TempDir,
}

pub(crate) async fn fixture() -> Sqlite {
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

    /// As on a full disk: this process cannot write to any file.
    fn interrupt(&self, interruption: Option<Interruption>) {
        let fails = interruption.is_some_and(|one| one.fault != Fault::AnswerLost);
        let Rlimit { maximum, .. } = getrlimit(Resource::Fsize);
        let current = if fails { Some(0) } else { maximum };
        let limits = Rlimit { current, maximum };
        setrlimit(Resource::Fsize, limits).unwrap();
    }
}

impl EmbeddedFixture for Sqlite {
    fn embedded(&self) -> Arc<dyn EmbeddedStore> {
        self.store() as _
    }
}
