//! The settings of the functions: typed, read once, few for each, all faults reported together.

use postrider_adapter_aws::dynamodb::{DEFAULT_SHARDS, Tables};
use postrider_domain::egress::Rules;
use postrider_domain::retention::Retention;
use postrider_domain::retry::RuntimeRetry;
use postrider_domain::time::Millis;
use postrider_gateway::settings::{BadSettings, GatewaySettings, MAX_BODY_BYTES_ON_AWS, Reader};
use postrider_ports::traces::TraceSettings;

use crate::environment;

/// The most shards; three digits in an index key.
const MAX_SHARDS: u16 = 999;

/// A look-up of settings by name.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The tables and how they are used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreSettings {
    /// Their names.
    pub tables: Tables,
    /// Over how many shards each index is spread.
    pub shards: u16,
    /// How long rows are kept.
    pub retention: Retention,
    /// The KMS key of the envelope; for functions that unseal secrets.
    pub kms_key: Option<String>,
}

/// Where rows and hints are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Backend {
    /// In DynamoDB and SQS.
    Aws {
        /// The store.
        store: StoreSettings,
        /// The queue of hints.
        queue_url: String,
    },
    /// With a running `postrider dev`, which printed this URL.
    #[cfg(feature = "local")]
    Dev(String),
}

/// What every function is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommonSettings {
    /// What is logged.
    pub log_filter: String,
    /// Which gateway this is, among others of the same account.
    pub gateway: String,
    /// Where traces go; none when they are off.
    pub traces: Option<TraceSettings>,
}

/// The settings of the API.
#[derive(Clone, Debug)]
pub struct ApiSettings {
    /// What every function is told.
    pub common: CommonSettings,
    /// Where rows and hints are.
    pub backend: Backend,
    /// The limits in force.
    pub limits: GatewaySettings,
    /// The Secrets Manager entry that holds the first key.
    pub first_key_secret: Option<String>,
}

/// The settings of the receiver of inbound webhooks.
#[derive(Clone, Debug)]
pub struct ReceiverSettings {
    /// What every function is told.
    pub common: CommonSettings,
    /// Where rows and hints are.
    pub backend: Backend,
    /// The limits in force.
    pub limits: GatewaySettings,
}

/// The settings of the dispatcher.
#[derive(Clone, Debug)]
pub struct DispatcherSettings {
    /// What every function is told.
    pub common: CommonSettings,
    /// Where rows and hints are.
    pub backend: Backend,
    /// Where webhooks may point.
    pub egress: Rules,
    /// The gateway's own retry settings.
    pub retry: RuntimeRetry,
}

/// The settings of the poller.
#[derive(Clone, Debug)]
pub struct PollerSettings {
    /// What every function is told.
    pub common: CommonSettings,
    /// Where rows and hints are.
    pub backend: Backend,
    /// How late a row may be before it is poked.
    pub grace: Millis,
}

/// The settings of the publisher.
#[derive(Clone, Debug)]
pub struct PublisherSettings {
    /// What every function is told.
    pub common: CommonSettings,
    /// The store.
    pub store: StoreSettings,
    /// The topic that announcements go to.
    pub topic_arn: String,
}

/// The settings of the notifier.
#[derive(Clone, Debug)]
pub struct NotifierSettings {
    /// What every function is told.
    pub common: CommonSettings,
    /// The store.
    pub store: StoreSettings,
    /// Who mails come from; without it none is sent.
    pub mail_from: Option<String>,
    /// Who gets the mail of a webhook without an owner.
    pub alert_address: Option<String>,
    /// The address of the API, for links.
    pub public_url: Option<String>,
}

/// Whether a function reads webhooks' secrets.
#[derive(Clone, Copy)]
enum Unseals {
    Yes,
    No,
}

macro_rules! from_environment {
    ($($settings:ty),+) => {$(
        impl $settings {
            /// From the environment of this process.
            ///
            /// # Errors
            /// Every setting that does not fit.
            pub fn from_environment() -> Result<Self, BadSettings> {
                Self::read(&environment::variable)
            }

            /// From any look-up; an empty setting counts as unset.
            ///
            /// # Errors
            /// Every setting that does not fit.
            pub fn read(lookup: Lookup<'_>) -> Result<Self, BadSettings> {
                let mut reader = Reader::new(lookup);
                let settings = Self::read_from(&mut reader);
                reader.finish()?;
                Ok(settings)
            }
        }
    )+};
}

from_environment!(
    ApiSettings,
    ReceiverSettings,
    DispatcherSettings,
    PollerSettings,
    PublisherSettings,
    NotifierSettings
);

impl ApiSettings {
    fn read_from(reader: &mut Reader<'_>) -> Self {
        Self {
            common: common(reader),
            backend: backend(reader, Unseals::Yes),
            limits: limits(reader),
            first_key_secret: reader.text("POSTRIDER_FIRST_KEY_SECRET"),
        }
    }
}

impl ReceiverSettings {
    fn read_from(reader: &mut Reader<'_>) -> Self {
        Self {
            common: common(reader),
            backend: backend(reader, Unseals::Yes),
            limits: limits(reader),
        }
    }
}

impl DispatcherSettings {
    fn read_from(reader: &mut Reader<'_>) -> Self {
        Self {
            common: common(reader),
            backend: backend(reader, Unseals::Yes),
            egress: reader.egress(),
            retry: reader.retry(),
        }
    }
}

impl PollerSettings {
    fn read_from(reader: &mut Reader<'_>) -> Self {
        Self {
            common: common(reader),
            backend: backend(reader, Unseals::No),
            grace: Millis::from_seconds(reader.number("POSTRIDER_GRACE_SECONDS", 1, 3600, 180)),
        }
    }
}

impl PublisherSettings {
    fn read_from(reader: &mut Reader<'_>) -> Self {
        Self {
            common: common(reader),
            store: store(reader, Unseals::No),
            topic_arn: reader.required("POSTRIDER_TOPIC_ARN"),
        }
    }
}

impl NotifierSettings {
    fn read_from(reader: &mut Reader<'_>) -> Self {
        Self {
            common: common(reader),
            store: store(reader, Unseals::No),
            mail_from: reader.text("POSTRIDER_MAIL_FROM"),
            alert_address: reader.text("POSTRIDER_ALERT_ADDRESS"),
            public_url: reader.text("POSTRIDER_PUBLIC_URL"),
        }
    }
}

fn common(reader: &mut Reader<'_>) -> CommonSettings {
    let or = |text: Option<String>, default: &str| text.unwrap_or_else(|| default.to_owned());
    CommonSettings {
        log_filter: or(reader.text("POSTRIDER_LOG"), "info"),
        gateway: or(reader.text("POSTRIDER_GATEWAY"), "postrider"),
        traces: reader.traces(),
    }
}

fn backend(reader: &mut Reader<'_>, unseals: Unseals) -> Backend {
    #[cfg(feature = "local")]
    if let Some(url) = reader.text("POSTRIDER_DEV_URL") {
        return Backend::Dev(url);
    }
    Backend::Aws {
        store: store(reader, unseals),
        queue_url: reader.required("POSTRIDER_QUEUE_URL"),
    }
}

fn store(reader: &mut Reader<'_>, unseals: Unseals) -> StoreSettings {
    StoreSettings {
        tables: Tables {
            deliveries: reader.required("POSTRIDER_DELIVERIES_TABLE"),
            configs: reader.required("POSTRIDER_CONFIGS_TABLE"),
        },
        shards: reader.number("POSTRIDER_SHARDS", 1, MAX_SHARDS, DEFAULT_SHARDS),
        retention: reader.retention(),
        kms_key: match unseals {
            Unseals::Yes => Some(reader.required("POSTRIDER_KMS_KEY")),
            Unseals::No => None,
        },
    }
}

fn limits(reader: &mut Reader<'_>) -> GatewaySettings {
    GatewaySettings {
        max_body_bytes: MAX_BODY_BYTES_ON_AWS,
        egress: reader.egress(),
        retry: reader.retry(),
    }
}
