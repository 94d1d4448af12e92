//! Turns of retries: which rows of a webhook go out now, and which are given a later turn by its rate.

use postrider_domain::time::{Millis, Timestamp};
use postrider_domain::webhook::Webhook;
use postrider_ports::deliveries::Move;
use postrider_ports::schedule::DueRow;
use postrider_ports::{Result, Store};

/// Rows of one webhook, parted by when they go out.
#[derive(Debug)]
pub(crate) struct Paced {
    /// They may go out now.
    pub(crate) ready: Vec<DueRow>,
    /// Their turn comes later.
    pub(crate) moves: Vec<Move>,
}

/// Parts rows that may go out now from retries whose turn comes later. Rows of a deleted webhook go on to the claim,
/// which ends them. A turn counts for `turn_holds_for`: after a stop many have passed at once, and the rows would go
/// out together.
pub(crate) async fn paced(
    store: &dyn Store,
    webhook: Option<&Webhook>,
    rows: Vec<DueRow>,
    turn_holds_for: Millis,
    now: Timestamp,
) -> Result<Paced> {
    let Some(webhook) = webhook else {
        return Ok(Paced {
            ready: rows,
            moves: Vec::new(),
        });
    };
    let has_turn = |row: &DueRow| row.paced && now.since(row.next_retry_at) <= turn_holds_for;
    let (held, mut ready): (Vec<_>, Vec<_>) = rows
        .into_iter()
        .partition(|row| row.is_retry && !has_turn(row));
    let mut moves = Vec::new();
    if !held.is_empty() {
        let rate = webhook.settings.retry_rate;
        let turns = store
            .reserve(&webhook.tenant, webhook.id, held.len(), rate, now)
            .await?;
        for (row, to) in held.into_iter().zip(turns) {
            if to <= now {
                ready.push(row);
            } else {
                moves.push(Move {
                    tenant: row.tenant,
                    id: row.id,
                    seen: row.next_retry_at,
                    to,
                });
            }
        }
    }
    Ok(Paced { ready, moves })
}
