//! Runs the `aws` command-line tool. Arguments are a list that no shell interprets.

mod call;
mod error;

use std::io;
use std::process::Stdio;

use clap::Args;
use serde_json::Value;
use tokio::process::Command;
use tokio::sync::Semaphore;

pub(super) use self::call::{AwsCall, CONFIGS_VARIABLE, DELIVERIES_VARIABLE, STREAM_VARIABLE};
pub(crate) use self::error::AwsError;

const PROGRAM: &str = "aws";
/// Each run of the tool starts an interpreter and takes a good part of a processor for about a second.
const CONCURRENT_RUNS: usize = 6;
/// Longer than any function runs. After its default of 60 s the tool would invoke the function a second time.
const READ_TIMEOUT_SECONDS: &str = "905";

#[derive(Debug, Args)]
pub(super) struct ToolArgs {
    /// Profile of the `aws` tool [default: the tool's own, or AWS_PROFILE]
    #[arg(long, global = true)]
    profile: Option<String>,

    /// Region of the stack [default: the profile's, or AWS_REGION]
    #[arg(long, global = true)]
    region: Option<String>,

    /// Another endpoint than AWS's own, such as an emulator
    // The tool itself ignores the variable for some services.
    #[arg(long, global = true, env = "AWS_ENDPOINT_URL", value_name = "URL")]
    endpoint_url: Option<String>,
}

pub(super) struct AwsTool {
    /// The options that every call has.
    common: Vec<String>,
    slots: Semaphore,
}

impl AwsTool {
    pub(super) fn new(args: ToolArgs) -> Self {
        let options = [
            ("--profile", args.profile),
            ("--region", args.region),
            ("--endpoint-url", args.endpoint_url),
        ];
        let given = options
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.filter(|value| !value.is_empty())?)));
        Self {
            common: given
                .flat_map(|(name, value)| [name.to_owned(), value])
                .collect(),
            slots: Semaphore::new(CONCURRENT_RUNS),
        }
    }

    #[cfg(test)]
    pub(super) fn plain() -> Self {
        Self::new(ToolArgs {
            profile: None,
            region: None,
            endpoint_url: None,
        })
    }

    /// The call as a line for a shell.
    pub(super) fn line(&self, call: &AwsCall) -> String {
        let words = [PROGRAM.to_owned()].into_iter().chain(call.words());
        let words = words.chain(self.common.iter().cloned());
        words
            .map(|word| call::quoted(&word))
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Makes a call and returns its result; null if it has none.
    pub(super) async fn run(&self, call: &AwsCall) -> Result<Value, AwsError> {
        // The semaphore is never closed; without a slot the call would only be slower.
        let _slot = self.slots.acquire().await.ok();
        let ended = Command::new(PROGRAM)
            .args(call.words())
            .args(&self.common)
            .args(["--output", "json"])
            // Version 2 shows results in a pager and may ask for missing options.
            .env("AWS_PAGER", "")
            .env("AWS_CLI_AUTO_PROMPT", "off")
            // The tool may ask for a code of multi-factor authentication.
            .stdin(Stdio::inherit())
            .kill_on_drop(true)
            .output()
            .await
            .map_err(|error| {
                if error.kind() == io::ErrorKind::NotFound {
                    AwsError::Missing
                } else {
                    AwsError::NotRun(error.to_string())
                }
            })?;
        if !ended.status.success() {
            return Err(AwsError::read(
                call,
                &String::from_utf8_lossy(&ended.stderr),
            ));
        }
        if ended.stdout.iter().all(u8::is_ascii_whitespace) {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&ended.stdout).map_err(|_| AwsError::Unreadable(call.name()))
    }

    /// Invokes a function with a JSON text, which it gets byte for byte, and waits for its result.
    pub(super) async fn invoke(&self, function: &str, payload: &str) -> Result<Invoked, AwsError> {
        let unusable = |error: io::Error| AwsError::NotRun(error.to_string());
        let folder = tempfile::tempdir().map_err(unusable)?;
        let (sent, received) = (folder.path().join("payload"), folder.path().join("result"));
        // A payload may be larger than an argument can be.
        std::fs::write(&sent, payload).map_err(unusable)?;
        let call = AwsCall::new("lambda", "invoke")
            .option("--function-name", function)
            .option("--payload", format!("fileb://{}", sent.display()))
            .option("--cli-read-timeout", READ_TIMEOUT_SECONDS)
            .value(received.display().to_string());
        let answer = self.run(&call).await?;
        let text = std::fs::read_to_string(&received).map_err(unusable)?;
        Ok(match answer.get("FunctionError") {
            Some(_) => Invoked::Failed(text),
            None => serde_json::from_str(&text).map_or(Invoked::Failed(text), Invoked::Returned),
        })
    }
}

/// The result of a function.
#[derive(Debug)]
pub(super) enum Invoked {
    Returned(Value),
    Failed(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profile_region_and_endpoint_are_part_of_every_line() {
        let tool = AwsTool::new(ToolArgs {
            profile: Some("prod".to_owned()),
            region: Some("eu-central-1".to_owned()),
            endpoint_url: Some(String::new()),
        });
        let call = AwsCall::new("sts", "get-caller-identity");
        assert_eq!(
            tool.line(&call),
            "aws sts get-caller-identity --profile prod --region eu-central-1",
            "an empty variable counts as unset"
        );
    }
}
