//! Due rows of one webhook: which go out now, and which wait in its backlog.

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join, join_all};
use postrider_domain::flow::AttemptKind;
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::time::Timestamp;
use postrider_domain::webhook::{Webhook, longest_attempt};
use postrider_ports::Result;
use postrider_ports::deliveries::{Claim, Seen, SeenRow};
use postrider_ports::drains::Postponed;
use postrider_ports::limiters::WebhookFlow;

use super::held::HeldEvents;
use super::triage::look;
use super::{Answer, Batch, DueRow, Handled, QueueWorker};
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

/// Rows with their claims, and what was known about the webhook when they were made.
#[derive(Default)]
struct Claims {
    claims: Vec<(DueRow, Result<Claim>)>,
    known: Option<(Box<Webhook>, WebhookFlow)>,
}

impl QueueWorker {
    /// Attempts rows, moves them to the backlog, or sends their messages again.
    pub(super) async fn handle_due(
        &self,
        due: Due,
        held: &HeldEvents,
        deadline: Timestamp,
    ) -> Vec<Answer> {
        let ids: Vec<_> = due.rows.iter().map(|row| row.id).collect();
        match self
            .in_time(deadline, self.admit_and_claim(due, deadline))
            .await
        {
            Ok((mut answers, Claims { claims, known })) => {
                held.hold(claims.iter().map(|(_, claim)| claim));
                let (unread, claims): (Vec<_>, Vec<_>) = claims
                    .into_iter()
                    .partition(|(_, claim)| matches!(claim, Ok(Claim::NotFresh)));
                let known = known.as_ref();
                let attempts = claims
                    .into_iter()
                    .map(|(row, claim)| self.finish(row.id, claim, known, deadline));
                let unread = unread.into_iter().map(|(row, _)| row).collect();
                let read = self.read_and_handle(unread, held, deadline);
                let (attempted, read) = join(join_all(attempts), read).await;
                answers.extend(attempted);
                answers.extend(read);
                answers
            }
            Err(error) => ids.into_iter().map(|id| (id, Err(error.clone()))).collect(),
        }
    }

    /// Handles rows of one webhook that are no longer fresh.
    fn read_and_handle<'a>(
        &'a self,
        rows: Vec<DueRow>,
        held: &'a HeldEvents,
        deadline: Timestamp,
    ) -> BoxFuture<'a, Vec<Answer>> {
        async move {
            let (mut answers, rows) = self.read(rows, deadline).await;
            if let Some(DueRow { tenant, id, .. }) = rows.first() {
                let due = Due {
                    tenant: tenant.clone(),
                    webhook: id.webhook,
                    rows,
                };
                answers.extend(self.handle_due(due, held, deadline).await);
            }
            answers
        }
        .boxed()
    }

    /// Reads rows that were taken for fresh. Returns those that are due, and the results of the others.
    async fn read(&self, rows: Vec<DueRow>, deadline: Timestamp) -> (Vec<Answer>, Vec<DueRow>) {
        let (unread, mut due): (Vec<_>, Vec<_>) = rows
            .into_iter()
            .partition(|row| row.seen == SeenRow::Accepted);
        let looks = unread.into_iter().map(|row| async move {
            let message = row.message();
            let look = self.in_time(deadline, look(&self.ports, &message)).await;
            (message, look)
        });
        let mut batch = Batch::default();
        let mut answers = Vec::new();
        for (index, (message, look)) in join_all(looks).await.into_iter().enumerate() {
            let id = message.id;
            answers.extend(batch.sort(index, message, look).map(|answer| (id, answer)));
        }
        self.wake_backlogs(batch.in_backlog).await;
        answers.extend(self.send_each(batch.early, Handled::SentAgain).await);
        due.extend(batch.due.into_values().flatten());
        (answers, due)
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
        let named = [(tenant.clone(), webhook)];
        let flow = self.ports.store.flows(&named).await.pop();
        let flow = flow.transpose()?.flatten();
        let now = self.ports.clock.now();
        let Some((webhook, flow)) = self.known(&tenant, webhook, flow, now).await? else {
            // The webhook was deleted: the claims end its rows.
            let claims = self.claim(rows, None, deadline).await;
            let known = None;
            return Ok((Vec::new(), Claims { claims, known }));
        };
        let longest = longest_attempt(webhook.settings.timeout);
        if now.plus(longest).plus(START_MARGIN) > deadline {
            let messages = rows.into_iter().map(DueRow::message).collect();
            let answers = self.send_each(messages, Handled::SentAgain).await;
            return Ok((answers, Claims::default()));
        }
        let admitted = self.admit(&webhook, &flow, rows, now).await?;
        let (mut answers, later) = self.read(admitted.later, deadline).await;
        let ids: Vec<_> = later.iter().map(|row| row.id).collect();
        match self.postpone(&webhook, &flow, later, now).await {
            Ok(postponed) => answers.extend(postponed),
            // The rows that may go still do.
            Err(error) => answers.extend(ids.into_iter().map(|id| (id, Err(error.clone())))),
        }
        let generation = Some(flow.generation);
        let claims = self.claim(admitted.now, generation, deadline).await;
        let known = Some((webhook, flow));
        Ok((answers, Claims { claims, known }))
    }

    /// The webhook with its flow; `None` if it was deleted. The flow says when the settings were changed, so cached ones
    /// need no other check.
    async fn known(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        flow: Option<WebhookFlow>,
        now: Timestamp,
    ) -> Result<Option<(Box<Webhook>, WebhookFlow)>> {
        let Some(flow) = flow else {
            return Ok(None);
        };
        let cache = &self.webhook_cache;
        let snapshot = cache
            .unchanged_since(tenant, webhook, flow.updated_at, now)
            .await?;
        let known = snapshot.get(webhook).cloned();
        Ok(known.map(|webhook| (Box::new(webhook), flow)))
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
            .take_credit(&webhook.tenant, webhook.id, flow, want, limits, now)
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
        generation: Option<u32>,
        deadline: Timestamp,
    ) -> Vec<(DueRow, Result<Claim>)> {
        if rows.is_empty() {
            return Vec::new();
        }
        let wanted = rows.iter().map(|row| {
            let seen = Seen {
                generation,
                row: row.seen,
            };
            self.wanting
                .wanted(row.tenant.clone(), row.id, seen, deadline)
        });
        let now = self.ports.clock.now();
        let claims = self.ports.store.claim(wanted.collect(), now).await;
        rows.into_iter().zip(claims).collect()
    }
}
