//! Turns: which rows of a webhook go out now, which go out later, and which are set aside until there is a turn for them.

use std::sync::Arc;

use async_trait::async_trait;
use postrider_domain::flow::FlowStatus;
use postrider_domain::pace::{Asked, Pace};
use postrider_domain::time::{Millis, Timestamp};
use postrider_domain::webhook::Webhook;
use postrider_ports::Result;
use postrider_ports::deliveries::Move;
use postrider_ports::flow::FlowStates;
use postrider_ports::pace::Pacing;
use postrider_ports::queue::AttemptMessage;
use postrider_ports::schedule::{DueRow, Turn};

/// How long turns are valid, and how far ahead they are given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TurnRules {
    /// After a stop, many turns have passed at once, and their rows would go out together. A turn that is later than this
    /// is no longer valid, and its row asks again.
    pub(crate) hold_for: Millis,
    /// No turn is given further ahead, because the rate may have changed by then.
    pub(crate) ahead: Millis,
}

/// Flows by the stored rates of webhooks.
pub(crate) struct PacedFlows(pub(crate) Arc<dyn Pacing>);

#[async_trait]
impl FlowStates for PacedFlows {
    async fn flows(&self, webhooks: &[Webhook]) -> Result<Vec<FlowStatus>> {
        let Some(first) = webhooks.first() else {
            return Ok(Vec::new());
        };
        let ids: Vec<_> = webhooks.iter().map(|webhook| webhook.id).collect();
        let paces = self.0.paces(&first.tenant, &ids).await?;
        let status = |(webhook, pace): (&Webhook, &Pace)| {
            let rate = webhook.settings.retry_rate;
            FlowStatus {
                limited: pace.is_slowed(rate),
                rate_milli: pace.rate_milli(rate),
            }
        };
        Ok(webhooks.iter().zip(&paces).map(status).collect())
    }
}

/// What is known about a webhook's rate when an attempt begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speed {
    /// The configured rate. A delivery does not change it.
    Full,
    /// The rate was lower, or it was not read.
    MaybeSlowed,
}

/// Rows of one webhook by when they go out.
#[derive(Debug, Default)]
pub(crate) struct Paced {
    /// Go out now.
    pub(crate) ready: Vec<(DueRow, Speed)>,
    /// Have a later turn.
    pub(crate) moves: Vec<Moved>,
    /// Have no turn yet.
    pub(crate) aside: Vec<AttemptMessage>,
}

/// A row with a later turn.
#[derive(Debug)]
pub(crate) struct Moved {
    pub(crate) step: Move,
    /// Whether an earlier turn of the row has passed.
    pub(crate) asked_again: bool,
}

/// Sorts rows by when they go out: retries take turns, and all rows do while the webhook is slowed down. Rows of a deleted
/// webhook go out to be claimed, because the claim ends them.
pub(crate) async fn paced(
    store: &dyn Pacing,
    webhook: Option<&Webhook>,
    rows: Vec<DueRow>,
    rules: TurnRules,
    now: Timestamp,
) -> Result<Paced> {
    let mut paced = Paced::default();
    let Some(webhook) = webhook else {
        paced.start(rows, Speed::Full);
        return Ok(paced);
    };
    let has_turn = |row: &DueRow| match row.turn {
        Turn::Unset => false,
        Turn::Set => now.since(row.next_retry_at) <= rules.hold_for,
        // In a queue that is always late, every row is late. If second turns expired as well, rows would ask again and
        // again and never go out.
        Turn::SetAgain => true,
    };
    let (turned, asking): (Vec<_>, Vec<_>) = rows.into_iter().partition(has_turn);
    paced.start(turned, Speed::MaybeSlowed);
    let has_first = asking.iter().any(|row| !row.is_retry);
    let is_slowed = has_first && is_slowed(store, webhook).await?;
    let (held, free) = asking
        .into_iter()
        .partition(|row| is_slowed || row.is_retry);
    paced.start(free, Speed::Full);
    paced.take_turns(store, webhook, held, rules, now).await?;
    Ok(paced)
}

async fn is_slowed(store: &dyn Pacing, webhook: &Webhook) -> Result<bool> {
    let paces = store.paces(&webhook.tenant, &[webhook.id]).await?;
    let rate = webhook.settings.retry_rate;
    Ok(paces.iter().any(|pace| pace.is_slowed(rate)))
}

impl Paced {
    fn start(&mut self, rows: Vec<DueRow>, speed: Speed) {
        self.ready.extend(rows.into_iter().map(|row| (row, speed)));
    }

    async fn take_turns(
        &mut self,
        store: &dyn Pacing,
        webhook: &Webhook,
        rows: Vec<DueRow>,
        rules: TurnRules,
        now: Timestamp,
    ) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let asked = Asked {
            count: rows.len(),
            per_second: webhook.settings.retry_rate,
            until: now.plus(rules.ahead),
        };
        let reserved = store
            .reserve(&webhook.tenant, webhook.id, asked, now)
            .await?;
        let speed = if reserved.slowed {
            Speed::MaybeSlowed
        } else {
            Speed::Full
        };
        let mut turns = reserved.turns.into_iter();
        for row in rows {
            match turns.next() {
                Some(turn) if turn <= now => self.ready.push((row, speed)),
                Some(to) => self.moves.push(Moved {
                    asked_again: row.turn == Turn::Set,
                    step: Move {
                        tenant: row.tenant,
                        id: row.id,
                        seen: row.next_retry_at,
                        to,
                    },
                }),
                None => self.aside.push(AttemptMessage {
                    tenant: row.tenant,
                    id: row.id,
                    next_retry_at: row.next_retry_at,
                    asked_again: false,
                }),
            }
        }
        Ok(())
    }
}
