//! Clients of the SDK whose requests, pauses and retries are all in the hands of the simulation.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::config::{
    AsyncSleep, BehaviorVersion, Credentials, IdentityCache, Region, SharedHttpClient, Sleep,
    StalledStreamProtectionConfig,
};

use super::executor::Executor;

struct VirtualSleep(Arc<Executor>);

impl fmt::Debug for VirtualSleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("VirtualSleep")
    }
}

impl AsyncSleep for VirtualSleep {
    fn sleep(&self, duration: Duration) -> Sleep {
        let ms = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        Sleep::new(self.0.sleep(ms))
    }
}

/// The SDK does not retry here, so that more faults reach the code behind it.
macro_rules! config {
    ($sdk:ident, $client:expr, $executor:expr) => {
        $sdk::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::from_static("us-east-1"))
            .credentials_provider(Credentials::new("test", "test", None, None, "test"))
            .identity_cache(IdentityCache::no_cache())
            .retry_config(RetryConfig::disabled())
            .timeout_config(TimeoutConfig::disabled())
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
            .http_client($client.clone())
            .sleep_impl(VirtualSleep(Arc::clone($executor)))
            .build()
    };
}

pub(super) fn clients(
    client: &SharedHttpClient,
    executor: &Arc<Executor>,
) -> (aws_sdk_dynamodb::Client, aws_sdk_kms::Client) {
    (
        aws_sdk_dynamodb::Client::from_conf(config!(aws_sdk_dynamodb, client, executor)),
        aws_sdk_kms::Client::from_conf(config!(aws_sdk_kms, client, executor)),
    )
}
