//! The stack built from the binaries of this checkout and deployed as a user would: by `sam build` and `sam deploy`.

use std::path::Path;

use serde_json::{Value, json};
use tokio::process::Command;

use super::emulator::{Emulator, repository, tool};
use super::inspecting::Embedder;
use super::stack::FUNCTIONS;
use crate::command;

/// Seconds instead of minutes, receivers on loopback, one EventBridge bus for both directions, and everything that the portal
/// and the event catalogue can show.
const PARAMETERS: [&str; 13] = [
    "Architecture=x86_64",
    "DeletionProtection=false",
    "EgressAllow=127.0.0.1/32",
    "GraceSeconds=1",
    "MaxConcurrency=10",
    "MailFrom=postrider@example.com",
    "EventBusName=orders",
    "EventTenant=orders",
    "NotificationBusName=orders",
    "PortalName=\"Acme & Sons\"",
    "PortalColor=#ffcc00",
    "EventValidation=warn",
    "PublicCatalogue=true",
];
/// `sam build` with the binaries next to the tests. Stripped, they zip ten times as fast.
pub(super) async fn build(emulator: &Emulator) {
    let folder = emulator.folder.path();
    let stripped = folder.join("binaries");
    std::fs::create_dir(&stripped).unwrap();
    let built = command::binary().parent().unwrap().to_owned();
    for function in FUNCTIONS {
        let name = format!("postrider-{function}");
        let mut strip = Command::new("strip");
        strip
            .arg("-o")
            .arg(stripped.join(&name))
            .arg(built.join(&name));
        run(strip).await;
    }
    let mut build = sam(emulator);
    build
        .args(["build", "--build-dir"])
        .arg(folder.join("build"))
        .env("POSTRIDER_BINARIES", stripped);
    run(build).await;
}

/// `sam deploy` with `samconfig.toml` and the parameters of a test. This site may embed the portal.
pub(super) async fn deploy(emulator: &Emulator, embedder: &Embedder) {
    let template = emulator.folder.path().join("build/template.yaml");
    let mut deploy = sam(emulator);
    deploy
        .args(["deploy", "--template-file"])
        .arg(template)
        .arg("--config-file")
        .arg(repository().join("samconfig.toml"))
        .arg("--parameter-overrides")
        .args(PARAMETERS)
        .arg(format!("PortalFrameAncestors={}", embedder.origin));
    run(deploy).await;
}

/// The outputs of the stack.
pub(super) async fn outputs(emulator: &Emulator) -> Value {
    let mut list = sam(emulator);
    list.args(["list", "stack-outputs", "--stack-name", "postrider-dev"])
        .args(["--output", "json"]);
    serde_json::from_slice(&run(list).await).unwrap()
}

fn sam(emulator: &Emulator) -> Command {
    let home = emulator.folder.path();
    quieten(home);
    let mut command = tool("sam");
    command
        .current_dir(repository())
        .env("HOME", home)
        .envs(emulator.credentials());
    command
}

/// Otherwise sam checks the internet for a newer version and sends telemetry.
fn quieten(home: &Path) {
    let settings = home.join(".aws-sam");
    std::fs::create_dir_all(&settings).unwrap();
    let never = json!({"telemetryEnabled": false, "lastVersionCheck": 32_503_680_000_i64});
    std::fs::write(settings.join("metadata.json"), never.to_string()).unwrap();
}

async fn run(mut command: Command) -> Vec<u8> {
    let ended = command.output().await.unwrap();
    let said = String::from_utf8_lossy(&ended.stdout);
    let failed = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{command:?}:\n{said}\n{failed}");
    ended.stdout
}
