//! Sessions that were ended before their time.

use async_trait::async_trait;
use postrider_domain::ids::TenantId;
use postrider_domain::time::Timestamp;

use crate::Result;

/// Identifies a session. Random, and part of what the session's cookie seals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SessionId(pub [u8; 16]);

/// Remembers which sessions were ended. A session itself is not stored: its cookie says all there is to know.
#[async_trait]
pub trait Sessions: Send + Sync {
    /// Ends a session that would have lasted until `until`; after that it need not be remembered.
    async fn end_session(
        &self,
        tenant: &TenantId,
        session: SessionId,
        until: Timestamp,
    ) -> Result<()>;

    async fn has_ended(&self, tenant: &TenantId, session: SessionId) -> Result<bool>;
}
