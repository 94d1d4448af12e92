//! The sender of a function.

use std::sync::OnceLock;

use async_trait::async_trait;
use postrider_adapter_http::{HttpSender, SenderSettings};
use postrider_domain::egress::Rules;
use postrider_domain::outcome::{Answer, Failure, FailureKind, Outcome, Phase, Timings};
use postrider_ports::sender::{Post, Sender};

/// A sender that goes where these rules allow.
///
/// # Errors
/// When the resolver or TLS cannot be set up.
pub fn sender(rules: Rules) -> anyhow::Result<HttpSender> {
    Ok(HttpSender::new(SenderSettings {
        rules,
        ..SenderSettings::default()
    })?)
}

/// The same, made with its first request: a function that seldom sends does not pay for it when it starts.
pub struct LateSender {
    rules: Rules,
    made: OnceLock<HttpSender>,
}

impl LateSender {
    /// Will go where these rules allow.
    #[must_use]
    pub const fn new(rules: Rules) -> Self {
        Self {
            rules,
            made: OnceLock::new(),
        }
    }

    /// One that could not be made is tried again with the next request.
    fn made(&self) -> anyhow::Result<&HttpSender> {
        if let Some(made) = self.made.get() {
            return Ok(made);
        }
        let sender = sender(self.rules.clone())?;
        Ok(self.made.get_or_init(|| sender))
    }
}

#[async_trait]
impl Sender for LateSender {
    async fn post(&self, request: Post) -> Outcome {
        match self.made() {
            Ok(sender) => sender.post(request).await,
            Err(error) => Outcome {
                result: Answer::Failed(Failure {
                    kind: FailureKind::Connect,
                    phase: Phase::Check,
                    detail: format!("the gateway cannot send: {error}"),
                }),
                timings: Timings::default(),
            },
        }
    }
}
