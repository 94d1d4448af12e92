//! The sender of a function.

use std::sync::OnceLock;

use async_trait::async_trait;
use postrider_adapter_http::{HttpSender, SenderSettings, SetupError};
use postrider_domain::egress::Rules;
use postrider_domain::outcome::{Answer, Failure, FailureKind, Outcome, Phase, Timings};
use postrider_ports::sender::{Post, Sender};

/// A sender that goes where these rules allow.
///
/// # Errors
/// When the resolver or TLS cannot be set up.
pub fn sender(rules: Rules) -> anyhow::Result<HttpSender> {
    Ok(made(rules)?)
}

fn made(rules: Rules) -> Result<HttpSender, SetupError> {
    HttpSender::new(SenderSettings {
        rules,
        ..SenderSettings::default()
    })
}

/// The same, made with its first request: a function that seldom sends does not pay for it when it starts.
pub struct LateSender {
    rules: Rules,
    made: OnceLock<Result<HttpSender, SetupError>>,
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
}

#[async_trait]
impl Sender for LateSender {
    async fn post(&self, request: Post) -> Outcome {
        match self.made.get_or_init(|| made(self.rules.clone())) {
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
