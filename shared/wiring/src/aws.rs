//! The SDK, set up once: one configuration, one client for each service.

use std::sync::Arc;
use std::time::Duration;

use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, SdkConfig};
use aws_smithy_http_client::Builder;
use aws_smithy_http_client::tls::Provider;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_runtime_api::client::http::{HttpClient, SharedHttpClient, http_client_fn};
use postrider_adapter_aws::dynamodb::{DataKeys, DynamoOptions, DynamoStore};

use crate::settings::StoreSettings;

/// A service of the same region answers in milliseconds; one that does not connect within this is not there.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// How long one try may take.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(3);
/// How long a call may take with all its tries; well below what a function has.
const OPERATION_TIMEOUT: Duration = Duration::from_secs(6);
const ATTEMPTS: u32 = 3;

/// The configuration that all clients of a function share.
pub struct Aws(SdkConfig);

impl Aws {
    /// From the environment of the function.
    pub async fn load() -> Self {
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .operation_attempt_timeout(ATTEMPT_TIMEOUT)
            .operation_timeout(OPERATION_TIMEOUT)
            .build();
        let retries = RetryConfig::standard().with_max_attempts(ATTEMPTS);
        // Pinned: a newer SDK must not change how calls behave by itself.
        let config = aws_config::defaults(BehaviorVersion::v2026_01_12())
            .http_client(https_when_called())
            .timeout_config(timeouts)
            .retry_config(retries);
        Self(config.load().await)
    }

    /// What every client is made from.
    #[must_use]
    pub const fn config(&self) -> &SdkConfig {
        &self.0
    }
}

/// One HTTPS client for all services. The SDK's own reads the machine's certificates when a client is made, once for each
/// service; that is most of a cold start. This one reads them once, with the first call.
fn https_when_called() -> SharedHttpClient {
    let https = Builder::new()
        .tls_provider(Provider::Rustls(CryptoMode::AwsLc))
        .build_https();
    http_client_fn(move |settings, components| https.http_connector(settings, components))
}

/// The store that these settings name. Calls nobody yet.
#[must_use]
pub fn store(aws: &Aws, settings: &StoreSettings) -> Arc<DynamoStore> {
    let kms = aws_sdk_kms::Client::new(aws.config());
    // Without a key it can do all but unseal, which its function has no need and no permission for.
    let data_keys = DataKeys::new(kms, settings.kms_key.clone().unwrap_or_default());
    let options = DynamoOptions {
        tables: settings.tables.clone(),
        shards: settings.shards,
        retention: settings.retention,
    };
    DynamoStore::new(
        aws_sdk_dynamodb::Client::new(aws.config()),
        data_keys,
        options,
    )
}
