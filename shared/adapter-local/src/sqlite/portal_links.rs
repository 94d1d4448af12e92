//! Links to the portal. A used link is deleted: the one writer makes sure that only one caller gets it.

use async_trait::async_trait;
use postrider_domain::ids::TenantId;
use postrider_domain::key::KeyDigest;
use postrider_domain::portal::{LONGEST_ACCESS, MAX_LINK_SECONDS, PortalLink};
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::Result;
use postrider_ports::portal_links::PortalLinks;
use rusqlite::{ToSql, params};

use super::{SqliteStore, codec};

/// Few at a time: creating a link is not a sweep.
pub(super) const FORGET: &str = "DELETE FROM portal_links WHERE digest IN \
     (SELECT digest FROM portal_links WHERE expires_at < ?1 ORDER BY expires_at LIMIT 10)";

pub(super) const USE: &str =
    "DELETE FROM portal_links WHERE digest = ?1 AND expires_at > ?2 RETURNING link";

pub(super) const ENDED_AT: &str = "SELECT ended_at FROM ended_portals WHERE tenant = ?1";

/// Few at a time, as above.
pub(super) const FORGET_ENDED: &str = "DELETE FROM ended_portals WHERE tenant IN \
     (SELECT tenant FROM ended_portals WHERE ended_at < ?1 ORDER BY ended_at LIMIT 10)";

/// A link is valid for this long at most, so what ends this long before a new link has expired.
const LONGEST: Millis = Millis::from_seconds(MAX_LINK_SECONDS);

#[async_trait]
impl PortalLinks for SqliteStore {
    async fn add_portal_link(&self, link: PortalLink) -> Result<()> {
        self.writer
            .write(move |tx| {
                let expired = link.expires_at.minus(LONGEST).as_millis();
                tx.execute(FORGET, params![expired])?;
                tx.execute(
                    "INSERT OR REPLACE INTO portal_links VALUES (?1, ?2, ?3)",
                    params![
                        link.digest.0,
                        link.expires_at.as_millis(),
                        codec::to_json(&link)?
                    ],
                )?;
                Ok(())
            })
            .await
    }

    async fn use_portal_link(
        &self,
        digest: KeyDigest,
        now: Timestamp,
    ) -> Result<Option<PortalLink>> {
        self.writer
            .write(move |tx| {
                let mut statement = tx.statement(USE)?;
                let used: [&dyn ToSql; 2] = [&digest.0, &now.as_millis()];
                codec::first(&mut statement, &used, |row| codec::json(row, 0))
            })
            .await
    }

    async fn end_portal(&self, tenant: &TenantId, at: Timestamp) -> Result<()> {
        let tenant = tenant.clone();
        self.writer
            .write(move |tx| {
                let forgotten = at.minus(LONGEST_ACCESS).as_millis();
                tx.execute(FORGET_ENDED, params![forgotten])?;
                tx.execute(
                    "INSERT OR REPLACE INTO ended_portals VALUES (?1, ?2)",
                    params![tenant.as_str(), at.as_millis()],
                )?;
                Ok(())
            })
            .await
    }

    async fn portal_ended_at(&self, tenant: &TenantId) -> Result<Option<Timestamp>> {
        let tenant = tenant.clone();
        self.readers
            .read(move |db| {
                let mut statement = db.prepare_cached(ENDED_AT)?;
                codec::first(&mut statement, &[&tenant.as_str()], |row| {
                    codec::instant(row, 0)
                })
            })
            .await
    }
}
