//! The ports of a running `postrider dev`, for functions that are being developed.

use std::sync::Arc;

use postrider_adapter_dev::{DevQueue, DevStore};
use postrider_ports::clock::Clock;

use crate::Parts;

/// Connects to the `postrider dev` that printed this URL.
pub(crate) async fn connect(url: &str, clock: Arc<dyn Clock>) -> anyhow::Result<Parts> {
    let store = DevStore::connect(url).await?;
    let process = store.process().to_owned();
    let queue = Arc::new(DevQueue::connect(url)?);
    Ok(Parts::over(Arc::new(store), queue, clock, process, None))
}
