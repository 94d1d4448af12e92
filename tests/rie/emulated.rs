//! One function under AWS's Runtime Interface Emulator, which comes with SAM.

use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;
use tokio::process::{Child, Command};

use crate::command::{self, PATIENCE};

/// An unused address.
pub(super) fn free_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

/// The URL that invokes a function behind the emulator at this address.
pub(super) fn invocations(address: &str) -> String {
    format!("http://{address}/2015-03-31/functions/function/invocations")
}

/// A running function, stopped when dropped.
pub(super) struct Emulated {
    process: Child,
    address: String,
    log: PathBuf,
    client: reqwest::Client,
}

impl Emulated {
    /// Starts the binary that was built with the feature `local`, to be invoked at this address.
    pub(super) fn start(
        name: &str,
        address: &str,
        settings: &[(&str, &str)],
        folder: &Path,
    ) -> Self {
        let binary = command::binary().with_file_name("local").join(name);
        assert!(
            binary.is_file(),
            "{} is missing: run make build",
            binary.display()
        );
        let log = folder.join(format!("{name}.log"));
        let lines = File::options()
            .create(true)
            .append(true)
            .open(&log)
            .unwrap();
        let process = Command::new(emulator())
            .args(["--runtime-interface-emulator-address", address])
            .args(["--runtime-api-address", &free_address()])
            .arg(binary)
            .env_clear()
            .envs(settings.iter().copied())
            .stdin(Stdio::null())
            .stdout(lines.try_clone().unwrap())
            .stderr(lines)
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let client = reqwest::Client::builder().no_proxy().timeout(PATIENCE);
        Self {
            process,
            address: address.to_owned(),
            log,
            client: client.build().unwrap(),
        }
    }

    /// Invokes it with an event and returns its result.
    pub(super) async fn invoke(&self, event: &Value) -> Value {
        let mut looks = tokio::time::interval(std::time::Duration::from_millis(20));
        let answered = async {
            loop {
                looks.tick().await;
                let call = self.client.post(invocations(&self.address)).json(event);
                match call.send().await {
                    Ok(response) => return response.json().await.unwrap(),
                    Err(error) if error.is_connect() => {}
                    Err(error) => panic!("{error}"),
                }
            }
        };
        tokio::time::timeout(PATIENCE, answered)
            .await
            .expect("the function responds")
    }
}

/// The emulator in the package of SAM.
fn emulator() -> PathBuf {
    let libraries = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .join(".tools/aws/lib");
    let pythons = std::fs::read_dir(&libraries).expect("SAM is installed: run tools/setup");
    let program = format!("aws-lambda-rie-{}", architecture());
    pythons
        .map(|entry| entry.unwrap().path())
        .map(|python| {
            python
                .join("site-packages/samcli/local/rapid")
                .join(&program)
        })
        .find(|path| path.is_file())
        .expect("SAM has the emulator")
}

fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "aarch64" => "arm64",
        other => other,
    }
}

/// Kills the emulator and the function that it started in its own process group. The emulator is stopped first, so it
/// cannot start another one.
fn end(emulator: u32) {
    let emulator = emulator.to_string();
    let kill = |signal: &str, pid: &str| {
        // It fails when no process is left, which is the goal.
        let _ = std::process::Command::new("kill")
            .args([signal, pid])
            .stderr(Stdio::null())
            .status();
    };
    kill("-STOP", &emulator);
    let functions = std::process::Command::new("pgrep")
        .args(["-P", &emulator])
        .output()
        .expect("pgrep is installed");
    let functions = String::from_utf8_lossy(&functions.stdout).into_owned();
    for pid in functions.lines().chain([emulator.as_str()]) {
        kill("-KILL", pid);
    }
}

impl Drop for Emulated {
    fn drop(&mut self) {
        if let Some(pid) = self.process.id() {
            end(pid);
        }
        if std::thread::panicking() {
            let log = std::fs::read_to_string(&self.log).unwrap_or_default();
            println!("{}:\n{log}", self.log.display());
        }
    }
}
