//! Whether the store works.

use async_trait::async_trait;
use postrider_ports::Result;
use postrider_ports::vitals::Vitals;

use super::SqliteStore;

#[async_trait]
impl Vitals for SqliteStore {
    /// Writes what is there already, and commits it: that fails if the disk is full.
    async fn check(&self) -> Result<()> {
        self.writer
            .write(|tx| {
                let version: i64 = tx
                    .db()
                    .pragma_query_value(None, "user_version", |row| row.get(0))?;
                Ok(tx.db().pragma_update(None, "user_version", version)?)
            })
            .await
    }

    /// Without the thread that writes, nothing is ever accepted again.
    fn is_alive(&self) -> bool {
        self.writer.is_running()
    }
}
