//! Deletes what has passed its retention time.
//!
//! Rows are walked by `rowid`, which is the order in which they were accepted, so this needs no index of its own. The
//! walk stops at a whole slice of rows too young to be deleted: a few young ones among old ones were accepted while the
//! clock ran ahead. Rows with a longer retention, such as dead ones, are skipped and
//! examined again when the walk starts over, at most once an hour, so they are not read on every call.

use std::collections::HashMap;

use postrider_domain::ids::TenantId;
use postrider_domain::retention::Retention;
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::housekeeping::Expired;
use rusqlite::Row;

use super::codec::{self, Stored};
use super::fault::Fault;
use super::unreadable::readable;
use super::writer::Tx;
use super::{mail_outbox, rows, stats, tenants};

const START_OVER_AFTER: Millis = Millis::from_seconds(3600);
/// How many rows one call examines beyond those it deletes, to limit how long it occupies the writer.
const SKIPPED: usize = 1000;
/// How many tenants one call examines, for the same reason.
const TENANTS: usize = 100;

pub(super) const ROWS_AFTER: &str = "SELECT id, event, event_id, webhook_id, event_type, session_id, intent, \
     target_url, signature, status, dead_cause, attempt_count, attempts_total, max_attempts, last_attempted_at, \
     next_retry_at, created_at, error_detail, generation, version, lease_process, lease_claim, lease_until, \
     last_status, tenant FROM webhook_deliveries WHERE id > ?1 ORDER BY id LIMIT ?2";

pub(super) const ROWS_OF_TENANT: &str = "SELECT id, event, event_id, webhook_id, event_type, session_id, intent, \
     target_url, signature, status, dead_cause, attempt_count, attempts_total, max_attempts, last_attempted_at, \
     next_retry_at, created_at, error_detail, generation, version, lease_process, lease_claim, lease_until, \
     last_status, tenant FROM webhook_deliveries \
     WHERE tenant = ?1 AND (created_at, id) > (?2, ?3) AND created_at <= ?4 ORDER BY created_at, id LIMIT ?5";

pub(super) const EVENTS_AFTER: &str = "SELECT id, created_at, \
     EXISTS (SELECT 1 FROM webhook_deliveries WHERE event = events.id) \
     FROM events WHERE id > ?1 ORDER BY id LIMIT ?2";

pub(super) const DELETE_BARE_EVENT: &str = "DELETE FROM events WHERE id = ?1 AND created_at <= ?2 \
     AND NOT EXISTS (SELECT 1 FROM webhook_deliveries WHERE event = ?1)";

pub(super) const FORGET_JOBS: &str =
    "DELETE FROM jobs WHERE state <> 'running' AND created_at < ?1";

/// How far the walk has come.
#[derive(Clone, Default)]
pub(super) struct Expiry {
    walk: Option<Walk>,
}

#[derive(Clone)]
struct Walk {
    retention: Retention,
    started_at: Timestamp,
    rows_after: i64,
    events_after: i64,
    /// By tenant with its own retention: the acceptance time and `rowid` of the last row that was examined.
    own_after: HashMap<TenantId, (i64, i64)>,
    /// The last tenant that was examined; `None` at the beginning of a round.
    tenants_after: Option<TenantId>,
}

impl Expiry {
    /// Deletes up to `limit` rows and events, and returns whether there is more to examine.
    pub(super) fn slice(
        &mut self,
        tx: &mut Tx<'_, '_>,
        retention: Retention,
        limit: usize,
        now: Timestamp,
    ) -> Result<Expired, Fault> {
        let fresh = Walk {
            retention,
            started_at: now,
            rows_after: 0,
            events_after: 0,
            own_after: HashMap::new(),
            tenants_after: None,
        };
        let walk = match self.walk.take() {
            Some(walk)
                if walk.retention == retention
                    && !walk
                        .started_at
                        .plus(START_OVER_AFTER)
                        .is_due(now, START_OVER_AFTER) =>
            {
                walk
            }
            Some(_) | None => fresh,
        };
        let walk = self.walk.insert(walk);
        let rows = walk.rows(tx, limit, now)?;
        let events = walk.bare_events(tx, limit - rows.removed, now)?;
        let own = walk.of_tenants(tx, limit - rows.removed - events.removed, now)?;
        let more = rows.more || events.more || own.more;
        if !more {
            let ended = now.minus(retention.dead.max(retention.delivered));
            tx.execute(FORGET_JOBS, [ended.as_millis()])?;
            stats::forget(tx, now)?;
            mail_outbox::forget(tx, now)?;
        }
        Ok(Expired {
            removed: rows.removed + events.removed + own.removed,
            more,
        })
    }
}

impl Walk {
    fn rows(
        &mut self,
        tx: &mut Tx<'_, '_>,
        limit: usize,
        now: Timestamp,
    ) -> Result<Expired, Fault> {
        let youngest = self.retention.delivered.min(self.retention.dead);
        let mut removed = 0;
        let examined = limit.saturating_add(SKIPPED);
        let slice = codec::all(
            &mut *tx.statement(ROWS_AFTER)?,
            &[&self.rows_after, &codec::limit(examined)],
            with_tenant,
        )?;
        let is_full = slice.len() == examined;
        let mut are_young = true;
        for (at, created_at, stored) in slice {
            if created_at.plus(youngest) > now {
                continue;
            }
            if removed == limit {
                return Ok(Expired {
                    removed,
                    more: true,
                });
            }
            are_young = false;
            self.rows_after = at;
            let Some(stored) = stored else {
                continue;
            };
            let stored = rows::without_void_lease(tx, stored);
            if self.retention.expires_at(&stored.row) <= now && !stored.row.is_held(now) {
                remove(tx, &stored, self.retention, now)?;
                removed += 1;
            }
        }
        Ok(Expired {
            removed,
            more: is_full && !are_young,
        })
    }

    /// Deletes rows of the next tenants whose own retention is shorter than the gateway's.
    fn of_tenants(
        &mut self,
        tx: &mut Tx<'_, '_>,
        limit: usize,
        now: Timestamp,
    ) -> Result<Expired, Fault> {
        let mut removed = 0;
        let found = tenants::own_retentions(tx.db(), self.tenants_after.as_ref(), TENANTS)?;
        let are_more = found.len() == TENANTS;
        let mut looked_at = 0;
        for (tenant, own) in found {
            let shortened = own.map(|own| (own, own.shorten(self.retention, own.since)));
            let Some((own, retention)) = shortened.filter(|(_, it)| *it != self.retention) else {
                self.tenants_after = Some(tenant);
                continue;
            };
            let begin = (own.since.as_millis(), 0);
            let mut after = self.own_after.get(&tenant).copied().unwrap_or(begin);
            let examined = (limit - removed).saturating_add(SKIPPED);
            let until = now.minus(retention.delivered.min(retention.dead));
            let slice = codec::all(
                &mut *tx.statement(ROWS_OF_TENANT)?,
                &[
                    &tenant.as_str(),
                    &after.0,
                    &after.1,
                    &until.as_millis(),
                    &codec::limit(examined),
                ],
                with_tenant,
            )?;
            let is_full = slice.len() == examined;
            looked_at += slice.len();
            for (at, created_at, stored) in slice {
                if removed == limit {
                    self.own_after.insert(tenant, after);
                    return Ok(Expired {
                        removed,
                        more: true,
                    });
                }
                after = (created_at.as_millis(), at);
                let stored = stored.map(|stored| rows::without_void_lease(tx, stored));
                if let Some(stored) = stored
                    && retention.expires_at(&stored.row) <= now
                    && !stored.row.is_held(now)
                {
                    remove(tx, &stored, retention, now)?;
                    removed += 1;
                }
            }
            self.own_after.insert(tenant.clone(), after);
            if !is_full {
                self.tenants_after = Some(tenant);
            }
            if is_full || looked_at >= SKIPPED {
                return Ok(Expired {
                    removed,
                    more: true,
                });
            }
        }
        if !are_more {
            self.tenants_after = None;
        }
        Ok(Expired {
            removed,
            more: are_more,
        })
    }

    /// Deletes events without any delivery; other events are deleted with their last row.
    fn bare_events(
        &mut self,
        tx: &Tx<'_, '_>,
        limit: usize,
        now: Timestamp,
    ) -> Result<Expired, Fault> {
        let mut removed = 0;
        let examined = limit.saturating_add(SKIPPED);
        let slice = codec::all(
            &mut *tx.statement(EVENTS_AFTER)?,
            &[&self.events_after, &codec::limit(examined)],
            |row| {
                Ok((
                    row.get::<_, i64>(0)?,
                    codec::instant(row, 1)?,
                    row.get::<_, bool>(2)?,
                ))
            },
        )?;
        let is_full = slice.len() == examined;
        let mut are_young = true;
        for (at, created_at, has_rows) in slice {
            if created_at.plus(self.retention.delivered) > now {
                continue;
            }
            if removed == limit {
                return Ok(Expired {
                    removed,
                    more: true,
                });
            }
            are_young = false;
            self.events_after = at;
            if !has_rows {
                removed += remove_if_bare(tx, at, self.retention, now)?;
            }
        }
        Ok(Expired {
            removed,
            more: is_full && !are_young,
        })
    }
}

fn remove(
    tx: &mut Tx<'_, '_>,
    stored: &Stored,
    retention: Retention,
    now: Timestamp,
) -> Result<(), Fault> {
    if stored.row.status.is_open() {
        let dead = stored.row.expired();
        rows::follow(tx, &stored.row, &dead, now)?;
    }
    // The attempts are deleted with the row.
    tx.execute("DELETE FROM webhook_deliveries WHERE id = ?1", [stored.at])?;
    remove_if_bare(tx, stored.event, retention, now)?;
    Ok(())
}

fn remove_if_bare(
    tx: &Tx<'_, '_>,
    event: i64,
    retention: Retention,
    now: Timestamp,
) -> Result<usize, Fault> {
    let oldest_kept = now.minus(retention.delivered);
    tx.execute(DELETE_BARE_EVENT, [event, oldest_kept.as_millis()])
}

/// A row with its position, which is known even if the rest cannot be read.
fn with_tenant(row: &Row<'_>) -> Result<(i64, Timestamp, Option<Stored>), Fault> {
    let (at, created_at) = codec::position(row)?;
    let stored = codec::text::<TenantId>(row, 24).and_then(|tenant| codec::delivery(row, &tenant));
    let stored = readable("deliveries", at, stored)?;
    Ok((at, Timestamp::from_millis(created_at), stored))
}
