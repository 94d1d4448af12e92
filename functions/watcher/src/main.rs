//! The watcher on Lambda.

use std::sync::Arc;

use lambda_runtime::{Error, service_fn};
use postrider_adapter_system::SystemClock;
use postrider_watcher::WatchFunction;
use postrider_wiring::settings::WatcherSettings;
use postrider_wiring::{Aws, traced};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let settings = WatcherSettings::from_environment()?;
    settings.common.start()?;
    let aws = Aws::load().await;
    let store = postrider_wiring::store(&aws, &settings.store);
    let watcher = WatchFunction::new(store, Arc::new(SystemClock), settings.common.gateway);
    lambda_runtime::run(service_fn(|event| traced(watcher.handle(event)))).await
}
