//! Every key of both tables, and the partition values of the indexes.

use std::str::FromStr;

use aws_sdk_dynamodb::types::AttributeValue;
use data_encoding::HEXLOWER;
use postrider_domain::delivery::{Lane, Status};
use postrider_domain::event::Label;
use postrider_domain::flow::AttemptKind;
use postrider_domain::ids::{DeliveryId, EventId, JobId, KeyId, SourceId, TenantId, WebhookId};
use postrider_domain::key::KeyDigest;
use postrider_domain::pattern::EventType;
use postrider_domain::rejected::RING;
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::sessions::SessionId;

use super::item::Item;
use crate::fault::unreadable;

/// The partition key of both tables.
pub(super) const PK: &str = "pk";
/// The sort key of both tables.
pub(super) const SK: &str = "sk";

/// How many shards each index has, and the registrations of backlogs. DynamoDB takes 1,000 writes per second for one key,
/// so a tenant, a webhook and a session can each have 16,000 rows per second. The number is part of every stored key: rows
/// in shards beyond another number would not be found.
pub(super) const SHARDS: u16 = 16;

/// The partition of small work markers for the poller. No tenant can have this name.
pub(super) const CHORES: &str = "#chores";
/// The partition that lists every tenant that ever had a key or a webhook.
pub(super) const TENANTS: &str = "#tenants";

/// Prefixes of sort keys.
pub(super) const WEBHOOK_PREFIX: &str = WebhookId::PREFIX;
pub(super) const SOURCE_PREFIX: &str = SourceId::PREFIX;
pub(super) const API_KEY_PREFIX: &str = KeyId::PREFIX;
pub(super) const EVENT_TYPE_PREFIX: &str = "event-type#";
pub(super) const FEED_PREFIX: &str = "feed#";
pub(super) const DELETED_PREFIX: &str = "deleted#";
pub(super) const STATS_PREFIX: &str = "stats#";
pub(super) const ATTEMPT_PREFIX: &str = "attempt#";
pub(super) const ERASURE_PREFIX: &str = "erasure#";
pub(super) const DELIVERY_PREFIX: &str = "delivery#";
pub(super) const REFUSED_PREFIX: &str = "refused#";
pub(super) const EVENT: &str = "event";
pub(super) const STATE: &str = "state";

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) pk: String,
    pub(super) sk: String,
}

impl Key {
    pub(super) fn new(pk: impl Into<String>, sk: impl Into<String>) -> Self {
        Self {
            pk: pk.into(),
            sk: sk.into(),
        }
    }

    pub(super) fn item(&self) -> Item {
        [(PK, &self.pk), (SK, &self.sk)]
            .into_iter()
            .map(|(name, value)| (name.to_owned(), AttributeValue::S(value.clone())))
            .collect()
    }

    pub(super) fn of(item: &Item) -> Result<Self> {
        let part = |name| {
            let value = item.get(name).and_then(|value| value.as_s().ok());
            value.cloned().ok_or_else(|| unreadable(name))
        };
        Ok(Self {
            pk: part(PK)?,
            sk: part(SK)?,
        })
    }

    pub(super) fn event(tenant: &TenantId, id: EventId) -> Self {
        Self::new(format!("{tenant}#{id}"), EVENT)
    }

    pub(super) fn delivery(tenant: &TenantId, id: DeliveryId) -> Self {
        let DeliveryId { event, webhook } = id;
        Self::new(
            format!("{tenant}#{event}"),
            format!("{DELIVERY_PREFIX}{webhook}"),
        )
    }

    /// The details of one failed attempt.
    pub(super) fn attempt(tenant: &TenantId, id: DeliveryId, version: u64) -> Self {
        let DeliveryId { event, webhook } = id;
        Self::new(
            format!("{tenant}#{event}"),
            format!("{ATTEMPT_PREFIX}{webhook}#{version}"),
        )
    }

    pub(super) fn state(tenant: &TenantId, webhook: WebhookId) -> Self {
        Self::new(format!("{tenant}#{webhook}"), STATE)
    }

    /// The limiter of a webhook and the lease of its drainer.
    pub(super) fn flow(tenant: &TenantId, webhook: WebhookId) -> Self {
        Self::new(format!("{tenant}#{webhook}"), "flow")
    }

    /// Says that a webhook may have a backlog.
    pub(super) fn registration(tenant: &TenantId, webhook: WebhookId) -> Self {
        let shard = shard_in(webhook.as_bytes().iter());
        Self::new(backlogs(shard), format!("{tenant}#{webhook}"))
    }

    pub(super) fn stats(tenant: &TenantId, webhook: WebhookId, hour: Timestamp) -> Self {
        Self::new(
            format!("{tenant}#{webhook}"),
            format!("{STATS_PREFIX}{:013}", hour.as_millis()),
        )
    }

    /// The e-mail last sent about a webhook for this reason.
    pub(super) fn email(tenant: &TenantId, webhook: WebhookId, cause: &str) -> Self {
        Self::new(format!("{tenant}#{webhook}"), format!("mailed#{cause}"))
    }

    pub(super) fn job(tenant: &TenantId, id: JobId) -> Self {
        Self::new(tenant.as_str(), format!("job#{id}"))
    }

    /// The notifications of one batch.
    pub(super) fn feed(tenant: &TenantId, ms: i64) -> Self {
        Self::new(tenant.as_str(), format!("{FEED_PREFIX}{ms:013}"))
    }

    /// What publishers have reserved in a second of the feed.
    pub(super) fn feed_second(tenant: &TenantId, at: Timestamp) -> Self {
        let second = at.as_seconds();
        Self::new(tenant.as_str(), format!("feed-second#{second:010}"))
    }

    pub(super) fn webhook(tenant: &TenantId, id: WebhookId) -> Self {
        Self::new(tenant.as_str(), id.to_string())
    }

    /// Says that a webhook was deleted whose counters are still kept.
    pub(super) fn deleted_webhook(tenant: &TenantId, id: WebhookId) -> Self {
        Self::new(tenant.as_str(), format!("{DELETED_PREFIX}{id}"))
    }

    pub(super) fn source(tenant: &TenantId, id: SourceId) -> Self {
        Self::new(tenant.as_str(), id.to_string())
    }

    /// Points from a source to its tenant.
    pub(super) fn source_owner(id: SourceId) -> Self {
        Self::new(id.to_string(), "source")
    }

    /// The counts of a source's rejected requests.
    pub(super) fn rejection_counts(tenant: &TenantId, source: SourceId) -> Self {
        Self::new(format!("{tenant}#{source}"), "refused")
    }

    /// The rejected request with this number in its source's ring buffer.
    pub(super) fn rejected(tenant: &TenantId, source: SourceId, number: u64) -> Self {
        let slot = number % RING;
        Self::new(
            format!("{tenant}#{source}"),
            format!("{REFUSED_PREFIX}{slot:02}"),
        )
    }

    pub(super) fn api_key(tenant: &TenantId, id: KeyId) -> Self {
        Self::new(tenant.as_str(), id.to_string())
    }

    pub(super) fn event_type(tenant: &TenantId, name: &EventType) -> Self {
        let name = name.as_str();
        Self::new(tenant.as_str(), format!("{EVENT_TYPE_PREFIX}{name}"))
    }

    pub(super) fn digest(digest: KeyDigest) -> Self {
        Self::new(format!("key#{}", HEXLOWER.encode(&digest.0)), "key")
    }

    /// A session that was ended before its time.
    /// When all links and sessions of a tenant's portal were ended.
    pub(super) fn ended_portal(tenant: &TenantId) -> Self {
        Self::new(format!("portal#{}", tenant.as_str()), "ended")
    }

    pub(super) fn session(tenant: &TenantId, session: SessionId) -> Self {
        let id = HEXLOWER.encode(&session.0);
        Self::new(format!("session#{}#{id}", tenant.as_str()), "ended")
    }

    /// A link to the portal, found by the digest of its token.
    pub(super) fn portal_link(digest: KeyDigest) -> Self {
        Self::new(format!("portal#{}", HEXLOWER.encode(&digest.0)), "link")
    }

    /// How many webhooks and sources a tenant has.
    pub(super) fn counts(tenant: &TenantId) -> Self {
        Self::new(tenant.as_str(), "counts")
    }

    /// A copy of the version of a tenant's webhooks.
    pub(super) fn version(tenant: &TenantId, copy: u64) -> Self {
        Self::new(format!("version#{copy}#{tenant}"), "version")
    }

    /// The tenant's data key, encrypted.
    pub(super) fn data_key(tenant: &TenantId) -> Self {
        Self::new(tenant.as_str(), "datakey")
    }

    /// The name and limits of a tenant.
    pub(super) fn tenant_record(tenant: &TenantId) -> Self {
        Self::new(tenant.as_str(), "tenant")
    }

    /// The tenant in the list of all tenants.
    pub(super) fn tenant(tenant: &TenantId) -> Self {
        Self::new(TENANTS, tenant.as_str())
    }

    pub(super) fn as_delivery(&self) -> Result<(TenantId, DeliveryId)> {
        let parts = || {
            let (tenant, event) = self.pk.split_once('#')?;
            let webhook = self.sk.strip_prefix(DELIVERY_PREFIX)?;
            let id = DeliveryId {
                event: event.parse().ok()?,
                webhook: webhook.parse().ok()?,
            };
            Some((tenant.parse().ok()?, id))
        };
        parts().ok_or_else(|| unreadable("the key of a row"))
    }

    pub(super) fn as_event(&self) -> Result<(TenantId, EventId)> {
        self.owned()
            .ok_or_else(|| unreadable("the key of an event"))
    }

    pub(super) fn as_source(&self) -> Result<(TenantId, SourceId)> {
        self.owned()
            .ok_or_else(|| unreadable("the key of a rejected request"))
    }

    /// The webhook whose state, pace or counters have this key.
    pub(super) fn as_webhook(&self) -> Result<(TenantId, WebhookId)> {
        self.owned()
            .ok_or_else(|| unreadable("the key of a webhook"))
    }

    /// Splits a partition key into the tenant and the id after it.
    fn owned<T: FromStr>(&self) -> Option<(TenantId, T)> {
        let (tenant, id) = self.pk.split_once('#')?;
        Some((tenant.parse().ok()?, id.parse().ok()?))
    }
}

pub(super) fn shard_of(id: DeliveryId) -> u16 {
    let bytes = id.event.as_bytes().iter().chain(id.webhook.as_bytes());
    shard_in(bytes)
}

fn shard_in<'a>(bytes: impl Iterator<Item = &'a u8>) -> u16 {
    // FNV-1a. Ids end in random bits, so any hash spreads them; this one needs no crate and never changes.
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    u16::try_from(hash % u64::from(SHARDS)).unwrap_or(0)
}

/// The partition of the index of due rows.
pub(super) fn lane(lane: Lane, webhook: WebhookId, kind: AttemptKind, shard: u16) -> String {
    match lane {
        Lane::Queued => format!("queued#{shard:02}"),
        Lane::Waiting => format!("waiting#{shard:02}"),
        Lane::Backlog => backlog(webhook, kind, shard),
    }
}

/// The prefix of the lane of every row in a backlog.
pub(super) const BACKLOG_PREFIX: &str = "backlog#";

/// The lane of the rows of one kind in a webhook's backlog.
pub(super) fn backlog(webhook: WebhookId, kind: AttemptKind, shard: u16) -> String {
    let kind = match kind {
        AttemptKind::First => "first",
        AttemptKind::Retry => "retry",
    };
    format!("{BACKLOG_PREFIX}{webhook}#{kind}#{shard:02}")
}

/// The partition of the webhooks that may have a backlog. No tenant can have this name.
pub(super) fn backlogs(shard: u16) -> String {
    format!("#backlogs#{shard:02}")
}

/// The partition of the index of all rows.
pub(super) fn recent(tenant: &TenantId, shard: u16) -> String {
    format!("{tenant}#{shard:02}")
}

/// The partition of the index by webhook.
pub(super) fn by_webhook(tenant: &TenantId, webhook: WebhookId, shard: u16) -> String {
    format!("{tenant}#{webhook}#{shard:02}")
}

/// The partition of the index by session.
pub(super) fn by_session(tenant: &TenantId, session: &Label, shard: u16) -> String {
    format!("{tenant}#{}#{shard:02}", session.as_str())
}

/// The partition of the index of failed and dead rows; `None` for other rows.
pub(super) fn trouble(tenant: &TenantId, status: Status, shard: u16) -> Option<String> {
    match status {
        Status::Failed | Status::Dead => Some(format!("{tenant}#{status}#{shard:02}")),
        Status::Pending | Status::Delivered => None,
    }
}
