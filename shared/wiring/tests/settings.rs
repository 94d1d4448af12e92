//! How functions read their environment.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code: a failed expectation panics with its location"
)]

use postrider_adapter_aws::dynamodb::Tables;
use postrider_adapter_aws::sqs::SqsUrls;
use postrider_domain::retention::Retention;
use postrider_gateway::settings::BadSettings;
use postrider_wiring::settings::{
    ApiSettings, Backend, BridgeSettings, DispatcherSettings, NotifierSettings, PollerSettings,
    PublisherSettings, StoreSettings,
};

const AWS: [(&str, &str); 5] = [
    ("POSTRIDER_DELIVERIES_TABLE", "deliveries"),
    ("POSTRIDER_CONFIGS_TABLE", "configs"),
    ("POSTRIDER_QUEUE_URL", "http://127.0.0.1/queue"),
    ("POSTRIDER_KMS_KEY", "key"),
    ("POSTRIDER_BODIES_BUCKET", "bodies"),
];

fn lookup(pairs: &[(&str, &str)]) -> impl Fn(&str) -> Option<String> {
    let pairs: Vec<(String, String)> = AWS
        .iter()
        .chain(pairs)
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    move |name| {
        let found = pairs.iter().rev().find(|(key, _)| key == name);
        found.map(|(_, value)| value.clone())
    }
}

fn errors<T: std::fmt::Debug>(read: Result<T, BadSettings>) -> Vec<String> {
    read.unwrap_err().0
}

#[test]
fn an_unset_setting_has_the_documented_default() {
    let settings = PollerSettings::read(&lookup(&[])).unwrap();
    assert_eq!(settings.grace.get(), 180_000);
    assert_eq!(settings.common.log_filter, "info");
    let store = StoreSettings {
        tables: Tables {
            deliveries: "deliveries".to_owned(),
            configs: "configs".to_owned(),
        },
        retention: Retention::default(),
        bodies_bucket: Some("bodies".to_owned()),
        kms_key: None,
    };
    let queues = SqsUrls {
        messages: "http://127.0.0.1/queue".to_owned(),
        drains: None,
    };
    assert_eq!(settings.backend, Backend::Aws { store, queues });
    let api = ApiSettings::read(&lookup(&[("POSTRIDER_FIRST_KEY_SECRET", " ")])).unwrap();
    assert_eq!(api.first_key_secret, None, "an empty setting is unset");
    assert_eq!(api.limits.max_body_bytes, 4 * 1024 * 1024);
}

#[test]
fn all_invalid_settings_are_reported_together() {
    let bad = lookup(&[
        ("POSTRIDER_DELIVERIES_TABLE", ""),
        ("POSTRIDER_KMS_KEY", ""),
        ("POSTRIDER_RETRY_BUDGET", "many"),
        ("POSTRIDER_EGRESS_HTTP", "maybe"),
    ]);
    let errors = errors(DispatcherSettings::read(&bad));
    assert_eq!(errors.len(), 4, "{errors:?}");
}

#[test]
fn a_function_requires_no_setting_it_does_not_use() {
    let bad = lookup(&[
        ("POSTRIDER_KMS_KEY", ""),
        ("POSTRIDER_EGRESS_HTTP", "maybe"),
    ]);
    assert!(PollerSettings::read(&bad).is_ok());
    assert!(NotifierSettings::read(&lookup(&[("POSTRIDER_QUEUE_URL", "")])).is_ok());
    let errors = errors(PublisherSettings::read(&bad));
    let required = [
        "POSTRIDER_TOPIC_ARN: must be set",
        "POSTRIDER_UNREADABLE_QUEUE_URL: must be set",
    ];
    assert_eq!(errors, required);
}

#[test]
fn bus_events_belong_to_the_default_tenant_unless_another_is_named() {
    const QUEUE: (&str, &str) = ("POSTRIDER_DEAD_LETTERS_URL", "http://127.0.0.1/dead");
    let settings = BridgeSettings::read(&lookup(&[QUEUE])).unwrap();
    assert_eq!(settings.tenant.as_str(), "default");
    let named = lookup(&[QUEUE, ("POSTRIDER_EVENT_TENANT", "acme")]);
    assert_eq!(
        BridgeSettings::read(&named).unwrap().tenant.as_str(),
        "acme"
    );
    let bad = lookup(&[QUEUE, ("POSTRIDER_EVENT_TENANT", "Acme Inc.")]);
    let errors = errors(BridgeSettings::read(&bad));
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(
        errors[0].starts_with("POSTRIDER_EVENT_TENANT: must be"),
        "{errors:?}"
    );
}
