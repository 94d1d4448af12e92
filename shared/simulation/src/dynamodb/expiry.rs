//! Time to live: an item is deleted some time after its `expires_at`, each on its own. Until then it can still be read.
//! <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/TTL.html>

use std::collections::{BTreeMap, BTreeSet};

use super::View;
use super::keys::Key;
use super::value::{self, TableItem};

/// The attribute that the template names: a time in seconds.
const EXPIRES_AT: &str = "expires_at";

#[derive(Default)]
pub(crate) struct Expiry {
    planned: BTreeMap<Key, Planned>,
    queue: BTreeSet<(i64, Key)>,
}

#[derive(Clone, Copy)]
struct Planned {
    expires_at: i128,
    deleted_ms: i64,
}

impl Expiry {
    /// Plans when an item that was written is deleted.
    pub(crate) fn plan(&mut self, key: &Key, item: Option<&TableItem>, view: &mut dyn View) {
        let expires_at = item.and_then(|item| value::number(item.get(EXPIRES_AT)?));
        let planned = self.planned.get(key).copied();
        if planned.map(|planned| planned.expires_at) == expires_at {
            return;
        }
        if let Some(planned) = planned {
            self.planned.remove(key);
            self.queue.remove(&(planned.deleted_ms, key.clone()));
        }
        let Some(expires_at) = expires_at else {
            return;
        };
        let expires_ms = i64::try_from(expires_at * 1000).expect("a time");
        let deleted_ms = expires_ms + view.expiry_lag_ms();
        let planned = Planned {
            expires_at,
            deleted_ms,
        };
        self.planned.insert(key.clone(), planned);
        self.queue.insert((deleted_ms, key.clone()));
    }

    /// An item that is to be deleted by now.
    pub(crate) fn due(&self, now_ms: i64) -> Option<Key> {
        let (deleted_ms, key) = self.queue.first()?;
        (*deleted_ms <= now_ms).then(|| key.clone())
    }

    /// When the next item is deleted.
    pub(crate) fn next_ms(&self) -> Option<i64> {
        self.queue.first().map(|(deleted_ms, _)| *deleted_ms)
    }
}
