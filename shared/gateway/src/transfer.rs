//! Moves data between gateways: exports what is stored, page by page, and imports what another gateway exported.
//!
//! Ids stay the same, so publishers and receivers notice nothing, and importing something twice changes nothing.

mod export;
mod import;
mod position;

use std::sync::Arc;

use postrider_domain::egress::Rules;
use postrider_domain::event_catalogue::CatalogueEntry;
use postrider_domain::ids::TenantId;
use postrider_domain::key::ApiKey;
use postrider_domain::source::Source;
use postrider_domain::tenant::Tenant;
use postrider_domain::webhook::Webhook;
use postrider_ports::TransferStore;
use postrider_ports::queue::Queue;
use postrider_ports::transfers::MovedEvent;

use crate::Ports;
use crate::settings::GatewaySettings;
use crate::webhook_cache::WebhookCache;

pub use export::{ExportPage, ExportWish, Pausing};
pub use import::{Clash, ImportOutcome, OnConflict};
pub use position::{Position, PositionError};

/// The most items of one page, and of one import.
pub const MAX_ITEMS: usize = 100;

pub struct Transfer {
    ports: Ports<dyn TransferStore>,
    webhook_cache: Arc<WebhookCache>,
    queue: Arc<dyn Queue>,
    egress: Rules,
    fastest_max_rate: u32,
    max_body_bytes: usize,
}

/// One thing that is exported.
#[derive(Clone, Debug)]
pub enum Exported {
    Webhook(Box<Webhook>),
    Source(Box<Source>),
    Key(ApiKey),
    Tenant(Tenant),
    EventType(TenantId, Box<CatalogueEntry>),
    Event(MovedEvent),
}

impl Transfer {
    pub(crate) fn new(
        ports: impl Into<Ports<dyn TransferStore>>,
        webhook_cache: Arc<WebhookCache>,
        queue: Arc<dyn Queue>,
        fastest_max_rate: u32,
        settings: &GatewaySettings,
    ) -> Self {
        Self {
            ports: ports.into(),
            webhook_cache,
            queue,
            egress: settings.egress.clone(),
            fastest_max_rate,
            max_body_bytes: settings.max_body_bytes,
        }
    }
}
