//! Every method of every port, once for both sides: what the client sends and what the server answers.
//!
//! `[&]` marks an argument passed by reference. An argument that contains a reference names its owned type, how it is
//! made owned, and how it is borrowed again. `one for each` names the batch whose items each get one result.

use std::sync::Arc;

use async_trait::async_trait;
use postrider_domain::attempt::Attempt;
use postrider_domain::delivery::{Claimed, Completion, Delivery, Force};
use postrider_domain::event::{Event, Label, RequestHash};
use postrider_domain::event_catalogue::CatalogueEntry;
use postrider_domain::flow::{Limiter, Limits};
use postrider_domain::health::{Health, WebhookStatus};
use postrider_domain::ids::{
    DeliveryId, ErasureId, EventId, JobId, KeyId, RejectedId, SourceId, TenantId, WebhookId,
};
use postrider_domain::key::{ApiKey, KeyDigest};
use postrider_domain::pattern::EventType;
use postrider_domain::portal::PortalLink;
use postrider_domain::rejected::{RejectedRequest, RejectionCounts, StoredRejection};
use postrider_domain::source::Source;
use postrider_domain::tenant::Tenant;
use postrider_domain::time::{Millis, Timestamp};
use postrider_domain::webhook::Webhook;
use postrider_ports::Result;
use postrider_ports::backlog::{Backlog, Rows, Stretch};
use postrider_ports::catalogue::Catalogue;
use postrider_ports::configs::{ApiKeys, Changed, Created, WebhookChange, WebhookList, Webhooks};
use postrider_ports::deliveries::{
    Acceptance, Accepted, Applied, Claim, Deliveries, Renewed, Wanted,
};
use postrider_ports::drains::{
    BacklogPart, BacklogSize, DrainEnd, DrainLease, Drains, Postponed, Registration, Round,
};
use postrider_ports::erasures::{DeletedSettings, Erasure, Erasures, EventErased};
use postrider_ports::history::{Cursor, Filter, History, HourlyStats, Page};
use postrider_ports::interventions::{Added, Interventions, Requeued};
use postrider_ports::jobs::{Jobs, RetryJob};
use postrider_ports::limiters::{Limiters, Stored, WebhookFlow};
use postrider_ports::notifications::{Notifications, StoredNotification};
use postrider_ports::portal_links::PortalLinks;
use postrider_ports::probes::Probes;
use postrider_ports::queue::{Queue, QueueMessage};
use postrider_ports::rejected::RejectedRequests;
use postrider_ports::sealing::Sealing;
use postrider_ports::sessions::{SessionId, Sessions};
use postrider_ports::sources::{SourceChange, Sources};
use postrider_ports::tenants::Tenants;
use postrider_ports::transfers::{Adopted, MovedEvent, Transfers};
use postrider_ports::vitals::Vitals;
use postrider_store_format::Vault;

use crate::client::{DevQueue, DevStore};
use crate::server::Served;
use crate::wire::{Form, Wire};

macro_rules! owned {
    ($given:ty) => {
        $given
    };
    ($given:ty, $owned:ty) => {
        $owned
    };
}

macro_rules! verbs {
    ($($port:ident of $side:ident on $client:ident $(with { $($local:tt)+ })? {
        $($verb:ident($($([$by:tt])? $arg:ident: $given:ty $([$owned:ty, $own:ident, $lend:ident])?),*)
            -> $answer:ty $([one for each $batch:ident])?;)+
    })+) => {
        $(#[async_trait]
        impl $port for $client {
            $($($local)+)?

            $(async fn $verb(&self, $($arg: $($by)? $given),*) -> $answer {
                let results = [$($batch.len())?].first().copied().unwrap_or(1);
                $($(let $arg = $arg.$own();)?)*
                let call = self.connection.pack(|_vault| Ok(($($arg.pack(_vault)?,)*)));
                self.connection.ask(stringify!($verb), call, results).await
            })+
        })+

        /// The answer to a verb; `None` if there is no such verb.
        pub(crate) async fn answer(
            served: &Served,
            vault: &Vault,
            verb: &str,
            call: &[u8],
        ) -> Result<Option<Vec<u8>>> {
            match verb {
                $($(stringify!($verb) => {
                    let ($($arg,)*): ($(Form<owned!($given $(, $owned)?)>,)*) = read(call)?;
                    $(let $arg = <owned!($given $(, $owned)?)>::unpack($arg, vault)?;)*
                    let answer = served.$side.$verb($($($by)? $arg $(.$lend())?),*).await;
                    written(&answer.pack(vault)?).map(Some)
                })+)+
                _ => Ok(None),
            }
        }
    };
}

verbs! {
    Deliveries of store on DevStore {
        accept(batch: Vec<Acceptance>) -> Vec<Result<Accepted>> [one for each batch];
        claim(wanted: Vec<Wanted>, now: Timestamp) -> Vec<Result<Claim>> [one for each wanted];
        renew([&] claimed: Claimed, until: Timestamp) -> Result<Renewed>;
        give_back([&] claimed: Claimed, now: Timestamp) -> Result<()>;
        apply([&] claimed: Claimed, completion: Completion, now: Timestamp) -> Result<Applied>;
    }
    Backlog of store on DevStore with {
        fn shards(&self) -> u16 {
            self.shards
        }
    } {
        rows_between(stretch: Stretch, limit: usize, after: Option<&Cursor> [Option<Cursor>, cloned, as_ref])
            -> Result<Rows>;
    }
    Limiters of store on DevStore {
        flows(webhooks: &[(TenantId, WebhookId)] [Vec<(TenantId, WebhookId)>, to_vec, as_slice])
            -> Vec<Result<Option<WebhookFlow>>> [one for each webhooks];
        enter([&] tenant: TenantId, webhook: WebhookId, seen_epoch: u64, entered: Limiter, now: Timestamp)
            -> Result<Stored>;
        take_credit([&] tenant: TenantId, webhook: WebhookId, [&] seen: WebhookFlow, want: usize, limits: Limits,
            now: Timestamp) -> Result<usize>;
    }
    Drains of store on DevStore {
        register_backlog([&] tenant: TenantId, webhook: WebhookId, now: Timestamp) -> Result<()>;
        move_to_backlog(rows: Vec<Postponed>, now: Timestamp) -> Vec<Result<()>> [one for each rows];
        ask_for_drain([&] tenant: TenantId, webhook: WebhookId, seen: Option<Timestamp>, at: Timestamp)
            -> Result<Stored>;
        take_drain_lease([&] tenant: TenantId, webhook: WebhookId, lease: DrainLease)
            -> Result<Option<WebhookFlow>>;
        store_limiter([&] tenant: TenantId, webhook: WebhookId, [&] lease: DrainLease, seen_epoch: u64,
            limiter: Limiter) -> Result<Stored>;
        end_drain([&] tenant: TenantId, webhook: WebhookId, [&] lease: DrainLease, end: DrainEnd) -> Result<()>;
        backlog_rows([&] tenant: TenantId, part: BacklogPart, limit: usize,
            after: Option<&Cursor> [Option<Cursor>, cloned, as_ref]) -> Result<Rows>;
        claim_from_backlog(wanted: Vec<Wanted>, now: Timestamp) -> Vec<Result<Claim>> [one for each wanted];
        registrations(shard: u16, limit: usize, after: Option<&Cursor> [Option<Cursor>, cloned, as_ref])
            -> Result<Page<Registration>>;
        registration([&] tenant: TenantId, webhook: WebhookId) -> Result<Option<Registration>>;
        unregister_backlog([&] registration: Registration) -> Result<()>;
        round() -> Result<Round>;
        store_round([&] round: Round) -> Result<()>;
        backlog_size([&] tenant: TenantId, webhook: WebhookId, now: Timestamp) -> Result<BacklogSize>;
    }
    Probes of store on DevStore {
        probes_due(limit: usize, now: Timestamp) -> Result<Vec<(TenantId, WebhookId)>>;
        begin_probe([&] tenant: TenantId, id: WebhookId, now: Timestamp) -> Result<Option<Health>>;
        give_back_probe([&] tenant: TenantId, id: WebhookId, probes: u32, now: Timestamp) -> Result<()>;
        probe_passed([&] tenant: TenantId, id: WebhookId, generation: u32, now: Timestamp) -> Result<()>;
    }
    Interventions of store on DevStore {
        requeue([&] tenant: TenantId, id: DeliveryId, force: Force, now: Timestamp) -> Result<Requeued>;
        add_delivery(row: Delivery) -> Result<Added>;
        end_deliveries_of_deleted_webhooks(limit: usize, now: Timestamp) -> Result<usize>;
    }
    History of store on DevStore {
        delivery([&] tenant: TenantId, id: DeliveryId) -> Result<Option<Delivery>>;
        event([&] tenant: TenantId, id: EventId) -> Result<Option<Arc<Event>>>;
        rows_of([&] tenant: TenantId, event: EventId) -> Result<Vec<Delivery>>;
        attempts([&] tenant: TenantId, id: DeliveryId) -> Result<Vec<Attempt>>;
        list([&] tenant: TenantId, [&] filter: Filter, limit: usize,
            cursor: Option<&Cursor> [Option<Cursor>, cloned, as_ref]) -> Result<Page<Delivery>>;
        stats([&] tenant: TenantId, webhook: Option<WebhookId>, from: Timestamp, to: Timestamp)
            -> Result<Vec<HourlyStats>>;
    }
    Webhooks of store on DevStore {
        webhooks_version([&] tenant: TenantId) -> Result<u64>;
        webhooks([&] tenant: TenantId) -> Result<WebhookList>;
        webhook([&] tenant: TenantId, id: WebhookId) -> Result<Option<Webhook>>;
        failed_webhooks() -> Result<u64>;
        create_webhook(webhook: Webhook) -> Result<Created>;
        change_webhook([&] tenant: TenantId, id: WebhookId, change: WebhookChange) -> Result<Changed>;
        set_webhook_status([&] tenant: TenantId, id: WebhookId, status: WebhookStatus, now: Timestamp) -> Result<Option<Health>>;
        delete_webhook([&] tenant: TenantId, id: WebhookId, now: Timestamp) -> Result<bool>;
    }
    ApiKeys of store on DevStore {
        key_by_digest(digest: KeyDigest) -> Result<Option<ApiKey>>;
        keys([&] tenant: TenantId) -> Result<Vec<ApiKey>>;
        put_key(key: ApiKey) -> Result<()>;
        revoke_key([&] tenant: TenantId, id: KeyId) -> Result<bool>;
        touch_key([&] key: ApiKey, at: Timestamp) -> Result<()>;
    }
    Catalogue of store on DevStore {
        event_types([&] tenant: TenantId) -> Result<Vec<CatalogueEntry>>;
        event_type([&] tenant: TenantId, [&] name: EventType) -> Result<Option<CatalogueEntry>>;
        put_event_type([&] tenant: TenantId, entry: CatalogueEntry) -> Result<()>;
        delete_event_type([&] tenant: TenantId, [&] name: EventType) -> Result<bool>;
    }
    Sources of store on DevStore {
        sources([&] tenant: TenantId) -> Result<Vec<Source>>;
        source([&] tenant: TenantId, id: SourceId) -> Result<Option<Source>>;
        source_by_id(id: SourceId) -> Result<Option<Source>>;
        create_source(source: Source) -> Result<Created>;
        change_source([&] tenant: TenantId, id: SourceId, change: SourceChange) -> Result<Changed>;
        delete_source([&] tenant: TenantId, id: SourceId) -> Result<bool>;
    }
    RejectedRequests of store on DevStore {
        store_rejected(rejected: RejectedRequest) -> Result<Option<RejectedId>>;
        rejections([&] tenant: TenantId, source: SourceId, limit: usize, now: Timestamp) -> Result<Vec<StoredRejection>>;
        rejected_request([&] tenant: TenantId, source: SourceId, id: RejectedId, now: Timestamp)
            -> Result<Option<StoredRejection>>;
        rejection_counts([&] tenant: TenantId, source: SourceId) -> Result<RejectionCounts>;
    }
    Jobs of store on DevStore {
        create_job([&] tenant: TenantId, job: RetryJob) -> Result<()>;
        job([&] tenant: TenantId, id: JobId) -> Result<Option<RetryJob>>;
        progress_job([&] tenant: TenantId, job: RetryJob) -> Result<Option<RetryJob>>;
        cancel_job([&] tenant: TenantId, id: JobId) -> Result<Option<RetryJob>>;
        unfinished_jobs() -> Result<Vec<(TenantId, RetryJob)>>;
    }
    Erasures of store on DevStore with {
        fn lists_lag(&self) -> Millis {
            Millis::ZERO
        }
    } {
        create_erasure([&] tenant: TenantId, erasure: Erasure) -> Result<()>;
        erasure([&] tenant: TenantId, id: ErasureId) -> Result<Option<Erasure>>;
        erasures([&] tenant: TenantId, limit: usize, before: Option<ErasureId>) -> Result<Vec<Erasure>>;
        progress_erasure([&] tenant: TenantId, erasure: Erasure) -> Result<Option<Erasure>>;
        unfinished_erasures() -> Result<Vec<(TenantId, Erasure)>>;
        erase_event([&] tenant: TenantId, id: EventId, now: Timestamp) -> Result<EventErased>;
        erased_at([&] tenant: TenantId, id: EventId) -> Result<Option<Timestamp>>;
        erase_from_jobs([&] tenant: TenantId, [&] session: Label) -> Result<bool>;
        scrub() -> Result<bool>;
        delete_settings([&] tenant: TenantId, limit: usize, now: Timestamp) -> Result<DeletedSettings>;
        delete_event([&] tenant: TenantId, id: EventId, now: Timestamp) -> Result<EventErased>;
        delete_rest([&] tenant: TenantId, limit: usize, after: Option<&Cursor> [Option<Cursor>, cloned, as_ref])
            -> Result<Option<Cursor>>;
        forget_tenant([&] tenant: TenantId) -> Result<()>;
    }
    Notifications of store on DevStore {
        notifications_after([&] tenant: TenantId, seq: u64, limit: usize) -> Result<Vec<StoredNotification>>;
        newest_notification([&] tenant: TenantId) -> Result<u64>;
        listening([&] tenant: TenantId, now: Timestamp) -> Result<()>;
    }
    Sealing of store on DevStore {
        seal([&] tenant: TenantId, purpose: String, text: String) -> Result<String>;
        unseal([&] tenant: TenantId, purpose: String, sealed: String) -> Result<Option<String>>;
    }
    Sessions of store on DevStore {
        end_session([&] tenant: TenantId, session: SessionId, until: Timestamp) -> Result<()>;
        has_ended([&] tenant: TenantId, session: SessionId) -> Result<bool>;
    }
    PortalLinks of store on DevStore {
        add_portal_link(link: PortalLink) -> Result<()>;
        use_portal_link(digest: KeyDigest, now: Timestamp) -> Result<Option<PortalLink>>;
        end_portal([&] tenant: TenantId, at: Timestamp) -> Result<()>;
        portal_ended_at([&] tenant: TenantId) -> Result<Option<Timestamp>>;
    }
    Vitals of store on DevStore with {
        fn is_alive(&self) -> bool {
            true
        }
    } {
        check() -> Result<()>;
    }
    Tenants of store on DevStore {
        tenant([&] id: TenantId) -> Result<Option<Tenant>>;
        tenant_page(limit: usize, after: Option<&TenantId> [Option<TenantId>, cloned, as_ref])
            -> Result<Vec<Tenant>>;
        put_tenant(tenant: Tenant, seen: Option<Timestamp>) -> Result<Changed>;
    }
    Transfers of store on DevStore {
        tenants() -> Result<Vec<TenantId>>;
        event_with_hash([&] tenant: TenantId, id: EventId) -> Result<Option<(Arc<Event>, RequestHash)>>;
        adopt_event(moved: MovedEvent, now: Timestamp) -> Result<Adopted>;
    }
    Queue of queue on DevQueue {
        send(messages: Vec<QueueMessage>) -> Vec<Result<()>> [one for each messages];
        depth() -> Result<u64>;
    }
}

fn read<T: serde::de::DeserializeOwned>(call: &[u8]) -> Result<T> {
    serde_json::from_slice(call).map_err(|_| crate::wire::unfit("a call"))
}

fn written<T: serde::Serialize>(answer: &T) -> Result<Vec<u8>> {
    serde_json::to_vec(answer).map_err(|_| crate::wire::unfit("an answer"))
}
