//! The sender of a function.

use std::sync::OnceLock;

use async_trait::async_trait;
use postrider_adapter_http::{HttpSender, SenderSettings};
use postrider_domain::egress::Rules;
use postrider_ports::sender::{OwnFault, OwnFaultKind, Post, Posted, Sender};

use crate::settings::Backend;

/// A sender that may reach the addresses that these rules allow. With a NAT gateway, requests to SQS take the same way as
/// those to receivers, so SQS tells an outage of the gateway's network from one of a receiver.
pub fn sender(rules: Rules, backend: &Backend) -> anyhow::Result<HttpSender> {
    Ok(HttpSender::new(SenderSettings {
        rules,
        reference: backend.queue_url().and_then(|url| url.parse().ok()),
        ..SenderSettings::default()
    })?)
}

/// Created with its first request: a function that seldom sends does not pay for it at startup.
pub struct LateSender {
    rules: Rules,
    created: OnceLock<HttpSender>,
}

impl LateSender {
    #[must_use]
    pub const fn new(rules: Rules) -> Self {
        Self {
            rules,
            created: OnceLock::new(),
        }
    }

    /// If creating it fails, the next request tries again.
    fn created(&self) -> anyhow::Result<&HttpSender> {
        if let Some(created) = self.created.get() {
            return Ok(created);
        }
        let sender = HttpSender::new(SenderSettings {
            rules: self.rules.clone(),
            ..SenderSettings::default()
        })?;
        Ok(self.created.get_or_init(|| sender))
    }
}

#[async_trait]
impl Sender for LateSender {
    async fn post(&self, request: Post) -> Posted {
        match self.created() {
            Ok(sender) => sender.post(request).await,
            Err(error) => Err(OwnFault {
                kind: OwnFaultKind::Setup,
                detail: error.to_string(),
            }),
        }
    }
}
