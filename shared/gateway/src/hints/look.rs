//! What a hint's row says about it.

use postrider_domain::delivery::HINT_REACH;
use postrider_ports::Result;
use postrider_ports::queue::Hint;
use postrider_ports::schedule::{DueRow, Turn};

use super::Needless;
use crate::Ports;

/// What a look at the row says.
#[derive(Debug)]
pub(super) enum Look {
    /// There is nothing to do.
    Dropped(Needless),
    /// The hint came before its time.
    Early,
    /// The row may go out.
    Due(DueRow),
    /// There is no row: a webhook is to be tested.
    Test,
}

/// Looks at the row that a hint names. The row is the truth; a hint only says where to look.
pub(super) async fn look(ports: &Ports, hint: &Hint) -> Result<Look> {
    if hint.is_test() {
        return Ok(Look::Test);
    }
    let Some(row) = ports.store.delivery(&hint.tenant, hint.id).await? else {
        return Ok(Look::Dropped(Needless::Missing));
    };
    let now = ports.clock.now();
    let due_at = row.next_retry_at.unwrap_or(row.created_at);
    Ok(if !row.status.is_open() {
        Look::Dropped(Needless::Closed)
    } else if row.parked {
        Look::Dropped(Needless::Parked)
    } else if row.is_held(now) {
        Look::Dropped(Needless::Held)
    } else if due_at <= now {
        Look::Due(DueRow {
            is_retry: row.is_retry(),
            turn: if row.paced && hint.asked_again && hint.next_retry_at == due_at {
                Turn::SetAgain
            } else {
                Turn::of(row.paced)
            },
            next_retry_at: due_at,
            tenant: row.tenant,
            id: row.id,
        })
    } else if due_at == hint.next_retry_at && due_at <= now.plus(HINT_REACH) {
        Look::Early
    } else {
        Look::Dropped(Needless::Superseded)
    })
}
