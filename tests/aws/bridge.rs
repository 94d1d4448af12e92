//! AWS's API, called through the SDK that comes with the emulator: each call is a line to a process, each result a line back.

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::sync::Mutex;

use super::emulator::{Emulator, tool};
use crate::command::PATIENCE;

struct Pipes {
    calls: u64,
    to: ChildStdin,
    from: Lines<BufReader<ChildStdout>>,
}

/// AWS's API at one emulator.
pub(super) struct Bridge {
    pipes: Mutex<Pipes>,
    _process: Child,
}

impl Bridge {
    /// A bridge to this emulator. It survives the emulator's restart.
    pub(super) fn start(emulator: &Emulator) -> Self {
        let mut process = tool("python")
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/aws/bridge.py"))
            .envs(emulator.credentials())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let to = process.stdin.take().unwrap();
        let from = BufReader::new(process.stdout.take().unwrap()).lines();
        Self {
            pipes: Mutex::new(Pipes { calls: 0, to, from }),
            _process: process,
        }
    }

    /// Calls an operation of a service, both with their boto3 names; an error is the message of AWS.
    pub(super) async fn try_call(
        &self,
        service: &str,
        operation: &str,
        parameters: Value,
    ) -> Result<Value, String> {
        let mut pipes = self.pipes.lock().await;
        pipes.calls += 1;
        let number = pipes.calls;
        let call = json!({"call": number, "service": service, "operation": operation, "parameters": parameters});
        let line = format!("{call}\n");
        pipes.to.write_all(line.as_bytes()).await.unwrap();
        let answer = async {
            loop {
                let line = pipes.from.next_line().await.unwrap();
                let line = line.expect("the bridge runs");
                let answer: Value = serde_json::from_str(&line).unwrap();
                // The result of an earlier call that timed out may come first.
                if answer["call"] == number {
                    return answer;
                }
            }
        };
        let mut answer = tokio::time::timeout(PATIENCE, answer)
            .await
            .expect("the bridge answers");
        match answer.get("error") {
            Some(error) => Err(error.as_str().unwrap().to_owned()),
            None => Ok(answer["ok"].take()),
        }
    }

    /// Calls an operation and expects success.
    pub(super) async fn call(&self, service: &str, operation: &str, parameters: Value) -> Value {
        let answer = self.try_call(service, operation, parameters).await;
        answer.unwrap_or_else(|error| panic!("{service} {operation}: {error}"))
    }
}
