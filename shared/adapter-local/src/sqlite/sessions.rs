//! Ended sessions, and whether the store works.

use async_trait::async_trait;
use postrider_domain::ids::TenantId;
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::sessions::{SessionId, Sessions};
use rusqlite::params;

use super::{SqliteStore, codec};

pub(super) const ENDED: &str = "SELECT 1 FROM ended_sessions WHERE tenant = ?1 AND id = ?2";

/// No session lasts longer than a day, so those are not needed any more. Few at a time: a logout is not a sweep.
pub(super) const FORGET: &str = "DELETE FROM ended_sessions WHERE (tenant, id) IN \
     (SELECT tenant, id FROM ended_sessions WHERE until < ?1 - 86400000 ORDER BY until LIMIT 10)";

#[async_trait]
impl Sessions for SqliteStore {
    async fn end_session(
        &self,
        tenant: &TenantId,
        session: SessionId,
        until: Timestamp,
    ) -> Result<()> {
        let tenant = tenant.clone();
        self.writer
            .write(move |tx| {
                tx.execute(FORGET, params![until.as_millis()])?;
                tx.execute(
                    "INSERT OR REPLACE INTO ended_sessions VALUES (?1, ?2, ?3)",
                    params![tenant.as_str(), session.0, until.as_millis()],
                )?;
                Ok(())
            })
            .await
    }

    async fn has_ended(&self, tenant: &TenantId, session: SessionId) -> Result<bool> {
        let tenant = tenant.clone();
        self.readers
            .read(move |db| {
                let mut statement = db.prepare_cached(ENDED)?;
                let found =
                    codec::first(&mut statement, &[&tenant.as_str(), &session.0], |_| Ok(()))?;
                Ok(found.is_some())
            })
            .await
    }
}
