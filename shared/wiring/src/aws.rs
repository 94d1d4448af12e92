//! The AWS SDK, set up once: one configuration, one client per service.

use std::sync::Arc;
use std::time::Duration;

use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, SdkConfig};
use aws_smithy_http_client::Builder;
use aws_smithy_http_client::tls::Provider;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_runtime_api::client::http::{HttpClient, SharedHttpClient, http_client_fn};
use postrider_adapter_aws::dynamodb::{BodyBucket, DataKeys, DynamoOptions, DynamoStore};

use crate::settings::StoreSettings;

/// A service in the same region answers in milliseconds; one that does not connect within this time is not available.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// How long one attempt of a call may take.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(3);
/// How long a call may take with all its attempts; well below a function's timeout.
const OPERATION_TIMEOUT: Duration = Duration::from_secs(6);
const ATTEMPTS: u32 = 3;

/// The configuration that all clients of a function share.
pub struct Aws(SdkConfig);

impl Aws {
    /// Reads the environment of the function.
    pub async fn load() -> Self {
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .operation_attempt_timeout(ATTEMPT_TIMEOUT)
            .operation_timeout(OPERATION_TIMEOUT)
            .build();
        let retries = RetryConfig::standard().with_max_attempts(ATTEMPTS);
        // Pinned: an SDK update must not change the behaviour of calls.
        let config = aws_config::defaults(BehaviorVersion::v2026_01_12())
            .http_client(https_when_called())
            .timeout_config(timeouts)
            .retry_config(retries);
        Self(config.load().await)
    }

    #[must_use]
    pub const fn config(&self) -> &SdkConfig {
        &self.0
    }
}

/// One HTTPS client for all services. The SDK's default client reads the system's certificates when it is created, once
/// per service, which is most of a cold start. This one reads them once, with the first call.
fn https_when_called() -> SharedHttpClient {
    let https = Builder::new()
        .tls_provider(Provider::Rustls(CryptoMode::AwsLc))
        .build_https();
    http_client_fn(move |settings, components| https.http_connector(settings, components))
}

/// The store named by these settings. Makes no call yet.
#[must_use]
pub fn store(aws: &Aws, settings: &StoreSettings) -> Arc<DynamoStore> {
    let kms = aws_sdk_kms::Client::new(aws.config());
    // Without a key it can do everything except unseal, which its function neither needs nor is permitted to do.
    let data_keys = DataKeys::new(kms, settings.kms_key.clone().unwrap_or_default());
    let options = DynamoOptions {
        tables: settings.tables.clone(),
        retention: settings.retention,
        bodies: settings.bodies_bucket.clone().map(|bucket| {
            let client = aws_sdk_s3::Client::new(aws.config());
            BodyBucket::new(client, bucket)
        }),
    };
    DynamoStore::new(
        aws_sdk_dynamodb::Client::new(aws.config()),
        data_keys,
        options,
    )
}
