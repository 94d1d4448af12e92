//! The settings of the functions: typed, read once, few per function, all errors reported together.

use postrider_adapter_aws::dynamodb::Tables;
use postrider_adapter_aws::sqs::SqsUrls;
use postrider_domain::egress::Rules;
use postrider_domain::ids::TenantId;
use postrider_domain::retention::Retention;
use postrider_domain::retry::RuntimeRetry;
use postrider_domain::time::Millis;
use postrider_gateway::settings::portal::PortalSettings;
use postrider_gateway::settings::shared::LOG;
use postrider_gateway::settings::{BadSettings, GatewaySettings, MAX_BODY_BYTES, Reader};
use postrider_ports::traces::TraceSettings;

/// Looks up a setting by name.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The tables and how they are used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreSettings {
    pub tables: Tables,
    pub retention: Retention,
    /// The bucket of large bodies; for functions that store or read bodies.
    pub bodies_bucket: Option<String>,
    /// The KMS key that encrypts data keys; for functions that unseal secrets.
    pub kms_key: Option<String>,
}

/// Where rows and queue messages are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Backend {
    /// In DynamoDB and SQS.
    Aws {
        store: StoreSettings,
        queues: SqsUrls,
    },
    /// In a running `postrider dev`, which printed this URL.
    #[cfg(feature = "local")]
    Dev(String),
}

impl Backend {
    /// The queue that the dispatcher receives from; `None` outside AWS.
    pub(crate) fn queue_url(&self) -> Option<&str> {
        match self {
            Self::Aws { queues, .. } => Some(&queues.messages),
            #[cfg(feature = "local")]
            Self::Dev(_) => None,
        }
    }
}

/// The settings of every function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommonSettings {
    pub log_filter: String,
    /// The name of this gateway, among others in the same account.
    pub gateway: String,
    /// `None` when traces are off.
    pub traces: Option<TraceSettings>,
}

#[derive(Clone, Debug)]
pub struct ApiSettings {
    pub common: CommonSettings,
    pub backend: Backend,
    pub limits: GatewaySettings,
    /// The Secrets Manager entry that contains the first key.
    pub first_key_secret: Option<String>,
    pub portal: PortalSettings,
}

/// The settings of the receiver of inbound webhooks.
#[derive(Clone, Debug)]
pub struct ReceiverSettings {
    pub common: CommonSettings,
    pub backend: Backend,
    pub limits: GatewaySettings,
}

#[derive(Clone, Debug)]
pub struct DispatcherSettings {
    pub common: CommonSettings,
    pub backend: Backend,
    /// Which addresses webhooks may target.
    pub egress: Rules,
    /// The retry settings of the gateway.
    pub retry: RuntimeRetry,
}

#[derive(Clone, Debug)]
pub struct PollerSettings {
    pub common: CommonSettings,
    pub backend: Backend,
    /// How late a row may be before the poller sends another queue message for it.
    pub grace: Millis,
}

#[derive(Clone, Debug)]
pub struct PublisherSettings {
    pub common: CommonSettings,
    pub store: StoreSettings,
    /// The topic that notifications are published to.
    pub topic_arn: String,
    /// The EventBridge bus that they are published to as well.
    pub notification_bus: Option<String>,
    /// The queue for changes that cannot be decoded.
    pub unreadable_queue_url: String,
}

/// The settings of the bridge from an EventBridge bus.
#[derive(Clone, Debug)]
pub struct BridgeSettings {
    pub common: CommonSettings,
    pub backend: Backend,
    pub limits: GatewaySettings,
    /// The tenant that events are published for.
    pub tenant: TenantId,
    /// The queue for events that cannot be published.
    pub dead_letters_url: String,
}

#[derive(Clone, Debug)]
pub struct WatcherSettings {
    pub common: CommonSettings,
    pub store: StoreSettings,
}

#[derive(Clone, Debug)]
pub struct NotifierSettings {
    pub common: CommonSettings,
    pub store: StoreSettings,
    /// The sender of e-mail; without it none is sent.
    pub mail_from: Option<String>,
    /// The recipient of e-mail about webhooks without an owner.
    pub alert_address: Option<String>,
    /// The URL of the API, for links.
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
            /// Reads the environment of this process.
            ///
            /// # Errors
            /// Every invalid setting.
            pub fn from_environment() -> Result<Self, BadSettings> {
                Self::read(&variable)
            }

            /// Reads from any lookup; an empty setting counts as unset.
            ///
            /// # Errors
            /// Every invalid setting.
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
    BridgeSettings,
    WatcherSettings,
    NotifierSettings
);

impl ApiSettings {
    fn read_from(reader: &mut Reader<'_>) -> Self {
        Self {
            common: common(reader),
            backend: backend(reader, Unseals::Yes),
            limits: limits(reader),
            first_key_secret: reader.text("POSTRIDER_FIRST_KEY_SECRET"),
            portal: PortalSettings {
                public_url: reader
                    .text("POSTRIDER_PUBLIC_URL")
                    .map(|url| url.trim_end_matches('/').to_owned()),
                ..reader.portal()
            },
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
            notification_bus: reader.text("POSTRIDER_NOTIFICATION_BUS"),
            unreadable_queue_url: reader.required("POSTRIDER_UNREADABLE_QUEUE_URL"),
        }
    }
}

impl BridgeSettings {
    fn read_from(reader: &mut Reader<'_>) -> Self {
        Self {
            common: common(reader),
            backend: backend(reader, Unseals::Yes),
            limits: limits(reader),
            tenant: tenant(reader),
            dead_letters_url: reader.required("POSTRIDER_DEAD_LETTERS_URL"),
        }
    }
}

impl WatcherSettings {
    fn read_from(reader: &mut Reader<'_>) -> Self {
        Self {
            common: common(reader),
            store: store(reader, Unseals::No),
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

#[expect(
    clippy::disallowed_methods,
    reason = "the one place where functions read their environment"
)]
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn common(reader: &mut Reader<'_>) -> CommonSettings {
    let gateway = reader.text("POSTRIDER_GATEWAY");
    CommonSettings {
        log_filter: LOG.read(reader),
        gateway: gateway.unwrap_or_else(|| "postrider".to_owned()),
        traces: reader.traces(),
    }
}

fn backend(reader: &mut Reader<'_>, unseals: Unseals) -> Backend {
    #[cfg(feature = "local")]
    if let Some(url) = reader.text("POSTRIDER_DEV_URL") {
        return Backend::Dev(url);
    }
    Backend::Aws {
        store: StoreSettings {
            bodies_bucket: Some(reader.required("POSTRIDER_BODIES_BUCKET")),
            ..store(reader, unseals)
        },
        queues: SqsUrls {
            messages: reader.required("POSTRIDER_QUEUE_URL"),
            drains: reader.text("POSTRIDER_DRAIN_QUEUE_URL"),
        },
    }
}

fn store(reader: &mut Reader<'_>, unseals: Unseals) -> StoreSettings {
    StoreSettings {
        tables: Tables {
            deliveries: reader.required("POSTRIDER_DELIVERIES_TABLE"),
            configs: reader.required("POSTRIDER_CONFIGS_TABLE"),
        },
        retention: reader.retention(),
        bodies_bucket: None,
        kms_key: match unseals {
            Unseals::Yes => Some(reader.required("POSTRIDER_KMS_KEY")),
            Unseals::No => None,
        },
    }
}

fn tenant(reader: &mut Reader<'_>) -> TenantId {
    const NAME: &str = "POSTRIDER_EVENT_TENANT";
    let parsed = reader.text(NAME).map(|text| text.parse::<TenantId>());
    parsed.transpose().map_or_else(
        |error| {
            reader.fault(NAME, &error.to_string());
            TenantId::default()
        },
        Option::unwrap_or_default,
    )
}

fn limits(reader: &mut Reader<'_>) -> GatewaySettings {
    GatewaySettings {
        max_body_bytes: MAX_BODY_BYTES,
        egress: reader.egress(),
        retry: reader.retry(),
        event_validation: reader.event_validation(),
    }
}
