//! Due rows of one webhook: which go out now, and which wait in its backlog.

use std::sync::Arc;

use futures_util::future::join_all;
use postrider_domain::flow::AttemptKind;
use postrider_domain::ids::{DeliveryId, TenantId, WebhookId};
use postrider_domain::time::{Millis, Timestamp};
use postrider_domain::webhook::{Webhook, longest_attempt};
use postrider_ports::Result;
use postrider_ports::deliveries::Claim;
use postrider_ports::drains::Postponed;
use postrider_ports::limiters::WebhookFlow;
use postrider_ports::queue::AttemptMessage;

use super::{Answer, DueRow, Handled, QueueWorker};
use crate::webhook_cache::Snapshot;
use crate::worker::START_MARGIN;

/// The rows of one webhook and what is known about it.
pub(super) struct Due {
    pub(super) tenant: TenantId,
    pub(super) webhook: WebhookId,
    pub(super) rows: Vec<DueRow>,
}

/// Which rows may go out now.
#[derive(Default)]
struct Admitted {
    now: Vec<DueRow>,
    later: Vec<DueRow>,
}

/// Claims, with what was known about the webhook when they were made.
#[derive(Default)]
struct Claims {
    claims: Vec<(DeliveryId, Result<Claim>)>,
    known: Option<(Box<Webhook>, WebhookFlow)>,
}

impl QueueWorker {
    /// Attempts rows, moves them to the backlog, or sends their messages again.
    pub(super) async fn handle_due(&self, due: Due, deadline: Timestamp) -> Vec<Answer> {
        let ids: Vec<_> = due.rows.iter().map(|row| row.id).collect();
        match self
            .in_time(deadline, self.admit_and_claim(due, deadline))
            .await
        {
            Ok((mut answers, Claims { claims, known })) => {
                let known = known.as_ref();
                let attempts = claims
                    .into_iter()
                    .map(|(id, claim)| self.finish(id, claim, known, deadline));
                answers.extend(join_all(attempts).await);
                answers
            }
            Err(error) => ids.into_iter().map(|id| (id, Err(error.clone()))).collect(),
        }
    }

    /// Handles rows that do not go out now, and claims those that do.
    async fn admit_and_claim(
        &self,
        due: Due,
        deadline: Timestamp,
    ) -> Result<(Vec<Answer>, Claims)> {
        let Due {
            tenant,
            webhook,
            rows,
        } = due;
        let now = self.ports.clock.now();
        let snapshot = self.snapshot_with(&tenant, webhook, now).await?;
        let known = snapshot.get(webhook);
        let timeout = known.map_or(Millis::ZERO, |webhook| webhook.settings.timeout);
        if now.plus(longest_attempt(timeout)).plus(START_MARGIN) > deadline {
            let messages = rows.into_iter().map(message_of).collect();
            let answers = self.send_each(messages, Handled::SentAgain).await;
            return Ok((answers, Claims::default()));
        }
        let flow = self.ports.store.flows(&[(tenant, webhook)]).await.pop();
        let (Some(webhook), Some(flow)) = (known, flow.transpose()?.flatten()) else {
            // The webhook was deleted: the claims end its rows.
            let claims = self.claim(rows, deadline).await;
            return Ok((
                Vec::new(),
                Claims {
                    claims,
                    known: None,
                },
            ));
        };
        let admitted = self.admit(webhook, &flow, rows, now).await?;
        let later: Vec<_> = admitted.later.iter().map(|row| row.id).collect();
        let answers = match self.postpone(webhook, &flow, admitted.later, now).await {
            Ok(answers) => answers,
            // The rows that may go still do.
            Err(error) => later
                .into_iter()
                .map(|id| (id, Err(error.clone())))
                .collect(),
        };
        let claims = self.claim(admitted.now, deadline).await;
        let known = Some((Box::new(webhook.clone()), flow));
        Ok((answers, Claims { claims, known }))
    }

    /// The webhooks of a tenant. This one may be newer than the cache, and without its settings its limits would not be kept.
    async fn snapshot_with(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        now: Timestamp,
    ) -> Result<Arc<Snapshot>> {
        let snapshot = self.webhook_cache.recent(tenant, now).await?;
        if snapshot.get(webhook).is_some() {
            return Ok(snapshot);
        }
        self.webhook_cache.current(tenant, now).await
    }

    /// Sorts rows by when they go out: none while the webhook is stopped or limited; retries, and what was due before the
    /// limit ended, as there is credit.
    async fn admit(
        &self,
        webhook: &Webhook,
        flow: &WebhookFlow,
        rows: Vec<DueRow>,
        now: Timestamp,
    ) -> Result<Admitted> {
        let is_closed = flow.status.is_stopped() || flow.is_limited();
        let entered = if is_closed {
            None
        } else {
            self.memory.read(webhook, flow, now)
        };
        if let Some(entered) = &entered {
            self.enter(webhook, entered, now).await;
        }
        if is_closed || entered.is_some() {
            return Ok(Admitted {
                now: Vec::new(),
                later: rows,
            });
        }
        let (mut retries, first): (Vec<_>, Vec<_>) = rows
            .into_iter()
            .partition(|row| row.needs_credit(&flow.limiter));
        if retries.is_empty() {
            return Ok(Admitted {
                now: first,
                later: Vec::new(),
            });
        }
        retries.sort_by_key(|row| (row.kind == AttemptKind::First, row.next_retry_at));
        let (want, limits) = (retries.len(), webhook.settings.limits());
        let store = &self.ports.store;
        let granted = store
            .take_credit(&webhook.tenant, webhook.id, want, limits, now)
            .await?;
        let later = retries.split_off(granted.min(want));
        retries.extend(first);
        Ok(Admitted {
            now: retries,
            later,
        })
    }

    /// Moves rows to the backlog of their webhook, and asks for it to be drained.
    async fn postpone(
        &self,
        webhook: &Webhook,
        flow: &WebhookFlow,
        rows: Vec<DueRow>,
        now: Timestamp,
    ) -> Result<Vec<Answer>> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        self.register(webhook, flow, now).await?;
        let ids: Vec<_> = rows.iter().map(|row| row.id).collect();
        let rows = rows.into_iter().map(|row| Postponed {
            tenant: row.tenant,
            id: row.id,
            kind: row.kind,
            next_retry_at: row.next_retry_at,
        });
        let moved = self.ports.store.move_to_backlog(rows.collect(), now).await;
        if !flow.status.is_stopped() {
            self.ask_for_drain(webhook, flow, now).await;
        }
        let done = moved
            .into_iter()
            .map(|moved| moved.map(|()| Handled::Postponed));
        Ok(ids.into_iter().zip(done).collect())
    }

    /// Registers a backlog before the first row is moved there. That of a stopped webhook was registered by stopping it.
    async fn register(&self, webhook: &Webhook, flow: &WebhookFlow, now: Timestamp) -> Result<()> {
        let drawn = self.ports.entropy.bytes();
        if flow.status.is_stopped() || !self.memory.must_register(webhook, flow.limiter, drawn, now)
        {
            return Ok(());
        }
        let store = &self.ports.store;
        let registered = store.register_backlog(&webhook.tenant, webhook.id, now);
        registered
            .await
            .inspect_err(|_| self.memory.forget_registration(webhook))
    }

    async fn claim(
        &self,
        rows: Vec<DueRow>,
        deadline: Timestamp,
    ) -> Vec<(DeliveryId, Result<Claim>)> {
        if rows.is_empty() {
            return Vec::new();
        }
        let ids: Vec<_> = rows.iter().map(|row| row.id).collect();
        let wanted = rows
            .into_iter()
            .map(|row| self.wanting.wanted(row.tenant, row.id, deadline));
        let now = self.ports.clock.now();
        let claims = self.ports.store.claim(wanted.collect(), now).await;
        ids.into_iter().zip(claims).collect()
    }
}

fn message_of(row: DueRow) -> AttemptMessage {
    AttemptMessage {
        tenant: row.tenant,
        id: row.id,
        next_retry_at: row.next_retry_at,
    }
}
