//! Links to the portal. A used link is deleted: the one writer makes sure that only one caller gets it.

use async_trait::async_trait;
use postrider_domain::key::KeyDigest;
use postrider_domain::portal::{MAX_LINK_SECONDS, PortalLink};
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
}
