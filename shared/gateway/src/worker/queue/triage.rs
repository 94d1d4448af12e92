//! Decides from the row what to do with a queue message.

use postrider_domain::delivery::MESSAGE_REACH;
use postrider_domain::flow::AttemptKind;
use postrider_ports::deliveries::SeenRow;
use postrider_ports::queue::AttemptMessage;
use postrider_ports::{Result, WorkerStore};

use super::{DueRow, Needless};
use crate::Ports;

#[derive(Debug)]
pub(super) enum Triage {
    Dropped(Needless),
    /// The message came before its time.
    Early,
    Due(DueRow),
}

/// What to do with a message, from the row that it names. A fresh row that is due needs no look: its claim fails if it is
/// not fresh anymore.
pub(super) async fn triage(
    ports: &Ports<dyn WorkerStore>,
    message: &AttemptMessage,
) -> Result<Triage> {
    if message.fresh && message.next_retry_at <= ports.clock.now() {
        return Ok(Triage::Due(DueRow {
            tenant: message.tenant.clone(),
            id: message.id,
            next_retry_at: message.next_retry_at,
            kind: AttemptKind::First,
            seen: SeenRow::Accepted,
        }));
    }
    look(ports, message).await
}

/// Reads the row that a message names. The row decides; the message only says where to look.
pub(super) async fn look(
    ports: &Ports<dyn WorkerStore>,
    message: &AttemptMessage,
) -> Result<Triage> {
    let Some(row) = ports.store.delivery(&message.tenant, message.id).await? else {
        return Ok(Triage::Dropped(Needless::Missing));
    };
    let now = ports.clock.now();
    let due_at = row.next_retry_at.unwrap_or(row.created_at);
    Ok(if !row.status.is_open() {
        Triage::Dropped(Needless::Closed)
    } else if row.in_backlog {
        Triage::Dropped(Needless::InBacklog)
    } else if row.is_held(now) {
        Triage::Dropped(Needless::Held)
    } else if due_at <= now {
        Triage::Due(DueRow {
            kind: AttemptKind::of(&row),
            next_retry_at: due_at,
            tenant: row.tenant,
            id: row.id,
            seen: SeenRow::Read,
        })
    } else if due_at == message.next_retry_at && due_at <= now.plus(MESSAGE_REACH) {
        Triage::Early
    } else {
        Triage::Dropped(Needless::Superseded)
    })
}
