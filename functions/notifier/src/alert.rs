//! What a message of the topic asks to be mailed.

use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::notice::NoticeKind;
use serde::Deserialize;

/// A webhook that has failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Alert {
    pub(crate) tenant: TenantId,
    pub(crate) webhook: WebhookId,
    pub(crate) retries: Option<u32>,
    pub(crate) reason: Option<String>,
}

/// A message that is no announcement.
#[derive(Debug, thiserror::Error)]
#[error("no announcement: {0}")]
pub(crate) struct Unreadable(&'static str);

/// What a topic wraps a message in, unless it delivers it raw.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Envelope {
    message: String,
}

#[derive(Deserialize)]
struct Announcement {
    #[serde(rename = "type")]
    kind: String,
    tenant: String,
    data: serde_json::Value,
}

#[derive(Deserialize)]
struct Failed {
    webhook_id: WebhookId,
    #[serde(default)]
    retries: Option<u32>,
    #[serde(default)]
    reason: Option<String>,
}

impl Alert {
    /// Reads a message; none when nobody is to be mailed of it.
    pub(crate) fn read(body: &str) -> Result<Option<Self>, Unreadable> {
        let unwrapped = serde_json::from_str::<Envelope>(body).map(|envelope| envelope.message);
        let message = unwrapped.as_deref().unwrap_or(body);
        let said: Announcement =
            serde_json::from_str(message).map_err(|_| Unreadable("not the form of one"))?;
        if said.kind != NoticeKind::WebhookFailed.as_str() {
            return Ok(None);
        }
        let failed: Failed =
            serde_json::from_value(said.data).map_err(|_| Unreadable("not the data of one"))?;
        Ok(Some(Self {
            tenant: said.tenant.parse().map_err(|_| Unreadable("no tenant"))?,
            webhook: failed.webhook_id,
            retries: failed.retries,
            reason: failed.reason,
        }))
    }
}
