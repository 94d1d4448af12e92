//! Exports a page at a time.

use std::collections::HashSet;

use postrider_domain::delivery::Delivery;
use postrider_domain::event_catalogue::CatalogueEntry;
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::{EventId, TenantId, WebhookId};
use postrider_domain::pattern::EventType;
use postrider_domain::source::Source;
use postrider_domain::time::Millis;
use postrider_domain::transfer::MovedDeliveries;
use postrider_domain::webhook::Webhook;
use postrider_ports::history::Filter;
use postrider_ports::transfers::{MovedDelivery, MovedEvent};

use super::position::{Place, Position, Stage};
use super::{Exported, MAX_ITEMS, Transfer};
use crate::GatewayError;

/// About how many bytes the payloads and attempts of a page have, unless a single event has more: a function's response is
/// limited to 6 MB.
const PAGE_BYTES: usize = 512 * 1024;

/// How long after a pause no worker can still start an attempt because it read the status before.
const SETTLING: Millis = Millis::from_seconds(2);

/// How many rows a page looks at to find the open ones.
const MAX_LISTED: usize = 500;

/// How many deliveries one item holds. An event for more webhooks is exported in several items.
const MAX_ROWS: usize = 50;

/// What to export.
#[derive(Clone, Copy, Debug)]
pub struct ExportWish {
    pub deliveries: MovedDeliveries,
    pub pausing: Pausing,
}

/// What happens to the webhooks of the gateway that is exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pausing {
    /// Webhooks keep sending. An open delivery may be sent by both gateways.
    No,
    /// Each webhook is paused when it is exported, and exported with the status it had.
    Pause,
}

#[derive(Clone, Debug)]
pub struct ExportPage {
    pub items: Vec<Exported>,
    /// Where the next page starts; `None` at the end.
    pub next: Option<Position>,
    /// The page ended at a delivery that is being attempted right now. Ask again in a moment.
    pub waits: bool,
}

/// What one tenant contributes to a page.
struct Part {
    items: Vec<Exported>,
    /// Where this tenant's part of the stage continues; `None` if it is complete.
    next: Option<Stage>,
    waits: bool,
}

impl Part {
    const fn of(items: Vec<Exported>, next: Option<Stage>) -> Self {
        Self {
            items,
            next,
            waits: false,
        }
    }
}

impl Transfer {
    /// Exports at most [`MAX_ITEMS`] items of one tenant.
    pub async fn export(
        &self,
        wish: ExportWish,
        at: Option<Position>,
    ) -> Result<ExportPage, GatewayError> {
        let Position { tenant, stage } = at.unwrap_or_else(Position::start);
        let tenants = self.ports.store.tenants().await?;
        let asked = tenants
            .iter()
            .find(|one| tenant.as_ref().is_none_or(|tenant| *one >= tenant));
        let Some(asked) = asked.cloned() else {
            let next = following(&tenants, None, &stage, wish);
            return Ok(ExportPage {
                items: Vec::new(),
                next,
                waits: false,
            });
        };
        let part = self.part(wish, &asked, stage.clone()).await?;
        let next = match part.next {
            Some(stage) => Some(Position::of(asked, stage)),
            None => following(&tenants, Some(&asked), &stage, wish),
        };
        Ok(ExportPage {
            items: part.items,
            next,
            waits: part.waits,
        })
    }

    async fn part(
        &self,
        wish: ExportWish,
        tenant: &TenantId,
        stage: Stage,
    ) -> Result<Part, GatewayError> {
        match stage {
            Stage::Webhooks { after } => self.webhooks(wish.pausing, tenant, after).await,
            Stage::Sources { after } => {
                let sources = self.sources(tenant).await?;
                let (page, last) = after_id(sources, after, |source| source.id);
                let next = last.map(|id| Stage::Sources { after: Some(id) });
                Ok(Part::of(
                    page.into_iter()
                        .map(|one| Exported::Source(Box::new(one)))
                        .collect(),
                    next,
                ))
            }
            Stage::Keys { after } => {
                let mut keys = self.ports.store.keys(tenant).await?;
                // A key without scopes is revoked.
                keys.retain(|key| !key.scopes.is_empty());
                keys.sort_by_key(|key| key.id);
                let (page, last) = after_id(keys, after, |key| key.id);
                let next = last.map(|id| Stage::Keys { after: Some(id) });
                Ok(Part::of(
                    page.into_iter().map(Exported::Key).collect(),
                    next,
                ))
            }
            Stage::Tenants => {
                let tenant = self.ports.store.tenant(tenant).await?;
                let recorded = tenant.filter(|tenant| tenant.recorded.is_some());
                let items = recorded.into_iter().map(Exported::Tenant);
                Ok(Part::of(items.collect(), None))
            }
            Stage::EventTypes { after } => self.event_types(tenant, after.as_ref()).await,
            Stage::Events(place) => self.events(wish, tenant, place).await,
        }
    }

    async fn webhooks(
        &self,
        pausing: Pausing,
        tenant: &TenantId,
        after: Option<WebhookId>,
    ) -> Result<Part, GatewayError> {
        let webhooks = self.ports.store.webhooks(tenant).await?.webhooks;
        let (page, last) = after_id(webhooks, after, |webhook| webhook.id);
        for webhook in &page {
            if pausing == Pausing::Pause && can_send(webhook) {
                let now = self.ports.clock.now();
                let paused = WebhookStatus::Paused;
                self.ports
                    .store
                    .set_webhook_status(tenant, webhook.id, paused, now)
                    .await?;
                self.webhook_cache.forget(tenant);
            }
        }
        let next = last.map(|id| Stage::Webhooks { after: Some(id) });
        Ok(Part::of(
            page.into_iter()
                .map(|one| Exported::Webhook(Box::new(one)))
                .collect(),
            next,
        ))
    }

    /// The sources of a tenant, without routes to deleted webhooks: nothing follows them, and no other gateway takes them.
    async fn sources(&self, tenant: &TenantId) -> Result<Vec<Source>, GatewayError> {
        let webhooks = self.webhook_ids(tenant).await?;
        let mut sources = self.ports.store.sources(tenant).await?;
        for source in &mut sources {
            let routes = &mut source.settings.routes;
            routes.retain(|route| webhooks.contains(&route.webhook_id));
        }
        Ok(sources)
    }

    async fn webhook_ids(&self, tenant: &TenantId) -> Result<HashSet<WebhookId>, GatewayError> {
        let now = self.ports.clock.now();
        let webhooks = self.webhook_cache.current(tenant, now).await?;
        Ok(webhooks.webhooks.iter().map(|webhook| webhook.id).collect())
    }

    async fn event_types(
        &self,
        tenant: &TenantId,
        after: Option<&EventType>,
    ) -> Result<Part, GatewayError> {
        let entries = self.ports.store.event_types(tenant).await?;
        let mut part = Part::of(Vec::new(), None);
        let (mut last, mut bytes) = (None, 0);
        for entry in entries {
            if after.is_some_and(|after| entry.name <= *after) {
                continue;
            }
            bytes += entry_size(&entry);
            let is_full = part.items.len() >= MAX_ITEMS || bytes > PAGE_BYTES;
            if !part.items.is_empty() && is_full {
                part.next = Some(Stage::EventTypes { after: last });
                break;
            }
            last = Some(entry.name.clone());
            part.items
                .push(Exported::EventType(tenant.clone(), Box::new(entry)));
        }
        Ok(part)
    }

    /// The events of a page of deliveries, newest first.
    async fn events(
        &self,
        wish: ExportWish,
        tenant: &TenantId,
        place: Place,
    ) -> Result<Part, GatewayError> {
        if wish.pausing == Pausing::Pause && !self.is_settled(tenant).await? {
            let next = Some(Stage::Events(place));
            return Ok(Part {
                waits: true,
                ..Part::of(Vec::new(), next)
            });
        }
        // Most rows are usually not open, and cost nothing more.
        let limit = match wish.deliveries {
            MovedDeliveries::Open => MAX_LISTED,
            MovedDeliveries::None | MovedDeliveries::All => MAX_ITEMS,
        };
        let store = &self.ports.store;
        let page = store
            .list(tenant, &Filter::default(), limit, place.page.as_ref())
            .await?;
        let webhooks = self.webhook_ids(tenant).await?;
        let done = page
            .items
            .iter()
            .position(|row| Some(row.id) == place.after);
        let mut part = Part::of(Vec::new(), None);
        let (mut last, mut bytes) = (place.after, 0);
        for row in page.items.iter().skip(done.map_or(0, |at| at + 1)) {
            let rows = self.rows(wish, tenant, row, &webhooks).await?;
            let now = self.ports.clock.now();
            part.waits = wish.pausing == Pausing::Pause
                && rows
                    .iter()
                    .any(|row| row.status.is_open() && row.is_held(now));
            let mut records = Vec::new();
            if !part.waits && part.items.len() < MAX_ITEMS {
                for chunk in rows.chunks(MAX_ROWS) {
                    records.extend(self.moved(tenant, row.id.event, chunk).await?);
                }
            }
            let more: usize = records.iter().map(size).sum();
            let is_full = part.items.len() >= MAX_ITEMS
                || (!part.items.is_empty() && bytes + more > PAGE_BYTES);
            if part.waits || is_full {
                part.next = Some(Stage::Events(Place {
                    page: place.page,
                    after: last,
                }));
                return Ok(part);
            }
            bytes += more;
            part.items.extend(records.into_iter().map(Exported::Event));
            last = Some(row.id);
        }
        part.next = page.next.map(|next| {
            Stage::Events(Place {
                page: Some(next),
                after: None,
            })
        });
        Ok(part)
    }

    /// Whether no worker can still be about to claim a delivery because it read a webhook's status before the pause.
    async fn is_settled(&self, tenant: &TenantId) -> Result<bool, GatewayError> {
        let now = self.ports.clock.now();
        // Not from the cache: a pause does not always raise the version.
        let webhooks = self.ports.store.webhooks(tenant).await?.webhooks;
        let changed = webhooks.iter();
        let mut changed = changed.filter_map(|webhook| webhook.health.changed_at);
        Ok(changed.all(|at| at.plus(SETTLING).is_due(now, SETTLING)))
    }

    /// The deliveries to export with this row. Each open one is exported alone, whatever happens to the others of its event.
    /// Of a whole history, an event goes with its first row. An open delivery whose webhook was deleted is about to be ended
    /// here, so it is not wanted elsewhere.
    async fn rows(
        &self,
        wish: ExportWish,
        tenant: &TenantId,
        row: &Delivery,
        webhooks: &HashSet<WebhookId>,
    ) -> Result<Vec<Delivery>, GatewayError> {
        let store = &self.ports.store;
        let mut rows = match wish.deliveries {
            MovedDeliveries::Open if row.status.is_open() => {
                store.delivery(tenant, row.id).await?.into_iter().collect()
            }
            MovedDeliveries::Open | MovedDeliveries::None => Vec::new(),
            MovedDeliveries::All => store.rows_of(tenant, row.id.event).await?,
        };
        if rows.iter().any(|other| other.id < row.id) {
            return Ok(Vec::new());
        }
        rows.retain(|row| {
            let is_alive = !row.status.is_open() || webhooks.contains(&row.id.webhook);
            wish.deliveries.includes(row.status) && is_alive
        });
        Ok(rows)
    }

    async fn moved(
        &self,
        tenant: &TenantId,
        event: EventId,
        rows: &[Delivery],
    ) -> Result<Option<MovedEvent>, GatewayError> {
        let store = &self.ports.store;
        // A row may outlive its event for a moment, until it is removed as well.
        let Some((event, request_hash)) = store.event_with_hash(tenant, event).await? else {
            return Ok(None);
        };
        let mut deliveries = Vec::with_capacity(rows.len());
        for row in rows {
            deliveries.push(MovedDelivery {
                attempts: store.attempts(tenant, row.id).await?,
                row: row.clone(),
            });
        }
        Ok(Some(MovedEvent {
            event,
            request_hash,
            deliveries,
        }))
    }
}

/// Whether the webhook sends, or may start to without an operator.
fn can_send(webhook: &Webhook) -> bool {
    match webhook.health.status {
        WebhookStatus::Active => true,
        WebhookStatus::Failed => webhook.settings.auto_resume,
        WebhookStatus::Paused | WebhookStatus::Disabled => false,
    }
}

/// The first items after an id, and the last of them if there are more.
fn after_id<T, I: Ord + Copy>(
    items: Vec<T>,
    after: Option<I>,
    id: impl Fn(&T) -> I,
) -> (Vec<T>, Option<I>) {
    let is_later = |item: &T| after.is_none_or(|after| id(item) > after);
    let mut page: Vec<T> = items.into_iter().filter(is_later).collect();
    let has_more = page.len() > MAX_ITEMS;
    page.truncate(MAX_ITEMS);
    let last = page.last().map(&id).filter(|_| has_more);
    (page, last)
}

/// Where the export goes on after a tenant is complete: the next tenant, or the first one in the next stage.
fn following(
    tenants: &[TenantId],
    tenant: Option<&TenantId>,
    stage: &Stage,
    wish: ExportWish,
) -> Option<Position> {
    let later = tenants
        .iter()
        .find(|one| tenant.is_some_and(|tenant| *one > tenant));
    let same = match stage {
        Stage::Webhooks { .. } => Stage::Webhooks { after: None },
        Stage::Sources { .. } => Stage::Sources { after: None },
        Stage::Keys { .. } => Stage::Keys { after: None },
        Stage::Tenants => Stage::Tenants,
        Stage::EventTypes { .. } => Stage::EventTypes { after: None },
        Stage::Events(_) => Stage::Events(Place::default()),
    };
    if let Some(tenant) = later {
        return Some(Position::of(tenant.clone(), same));
    }
    let next = match stage {
        Stage::Webhooks { .. } => Stage::Sources { after: None },
        Stage::Sources { .. } => Stage::Keys { after: None },
        Stage::Keys { .. } => Stage::Tenants,
        Stage::Tenants => Stage::EventTypes { after: None },
        Stage::EventTypes { .. } if wish.deliveries != MovedDeliveries::None => {
            Stage::Events(Place::default())
        }
        Stage::EventTypes { .. } | Stage::Events(_) => return None,
    };
    Some(Position {
        tenant: None,
        stage: next,
    })
}

/// About how large an entry is.
fn entry_size(entry: &CatalogueEntry) -> usize {
    let values = entry.schema.iter().chain(&entry.examples);
    let values: usize = values.map(|value| value.to_string().len()).sum();
    values + entry.description.as_ref().map_or(0, String::len) + 512
}

fn size(moved: &MovedEvent) -> usize {
    let attempts = moved.deliveries.iter().flat_map(|one| &one.attempts);
    let texts = attempts.map(|attempt| attempt.response_body.as_ref().map_or(0, String::len));
    moved.event.body.len() + texts.sum::<usize>() + 1024 * moved.deliveries.len()
}
