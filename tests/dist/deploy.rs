//! The examples for platforms.

use std::fs;
use std::process::Command;

use serde_json::Value;

use super::stage::{repository, run, version};

const FILES: [&str; 3] = ["compose.yaml", "kubernetes.yaml", "fly.toml"];
const READ: &str = "
import json, sys, tomllib, yaml
text = open(sys.argv[1]).read()
print(json.dumps([tomllib.loads(text)] if sys.argv[1].endswith('.toml') else list(yaml.safe_load_all(text))))
";

fn text(file: &str) -> String {
    fs::read_to_string(repository().join("examples/deploy").join(file)).unwrap()
}

fn documents(file: &str) -> Vec<Value> {
    let python = repository().join(".tools/aws/bin/python");
    let path = repository().join("examples/deploy").join(file);
    let read = run(Command::new(python).args(["-c", READ]).arg(path));
    serde_json::from_str(&read).unwrap()
}

#[test]
fn every_setting_of_an_example_is_documented() {
    let page = fs::read_to_string(repository().join("docs/configuration.md")).unwrap();
    for file in FILES.iter().chain(&["README.md"]) {
        let text = text(file);
        let is_part = |c: char| c.is_ascii_uppercase() || c == '_';
        let names = text
            .split(|c| !is_part(c))
            .filter(|word| word.starts_with("POSTRIDER_"));
        let names: Vec<_> = names.collect();
        assert!(!names.is_empty(), "{file}");
        for name in names {
            assert!(page.contains(&format!("| `{name}` |")), "{name} in {file}");
        }
    }
}

#[test]
fn the_examples_run_the_image_of_this_version() {
    for file in ["compose.yaml", "kubernetes.yaml", "fly.Dockerfile"] {
        let image = format!("ghcr.io/postrider/postrider:{}\n", version());
        assert!(text(file).contains(&image), "{file}");
    }
}

#[test]
fn compose_stores_the_data_in_a_volume_and_waits_for_requests_in_flight() {
    let service = &documents("compose.yaml")[0]["services"]["postrider"];
    assert_eq!(service["volumes"][0], "data:/var/lib/postrider");
    assert_eq!(service["stop_grace_period"], "60s");
    assert_eq!(service["read_only"], true);
}

#[test]
fn kubernetes_runs_one_gateway_on_one_volume_with_probes() {
    let documents = documents("kubernetes.yaml");
    let of = |kind: &str| documents.iter().find(|it| it["kind"] == kind).unwrap();
    let deployment = &of("Deployment")["spec"];
    assert_eq!(deployment["replicas"], 1);
    assert_eq!(deployment["strategy"]["type"], "Recreate");
    let pod = &deployment["template"]["spec"];
    assert_eq!(pod["securityContext"]["runAsUser"], 65532);
    assert_eq!(
        pod["volumes"][0]["persistentVolumeClaim"]["claimName"],
        of("PersistentVolumeClaim")["metadata"]["name"]
    );
    let container = &pod["containers"][0];
    for probe in ["readinessProbe", "livenessProbe"] {
        let get = &container[probe]["httpGet"];
        assert!(get["path"].is_string(), "{probe}");
        assert_eq!(get["port"], container["ports"][0]["name"]);
    }
    let selector = &of("Service")["spec"]["selector"];
    assert_eq!(selector, &deployment["template"]["metadata"]["labels"]);
}

#[test]
fn fly_runs_one_machine_that_never_stops() {
    let document = &documents("fly.toml")[0];
    assert_eq!(document["http_service"]["auto_stop_machines"], "off");
    assert_eq!(document["http_service"]["min_machines_running"], 1);
    let data = document["env"]["POSTRIDER_DATA"].as_str().unwrap();
    let mounted = document["mounts"][0]["destination"].as_str().unwrap();
    assert!(data.starts_with(&format!("{mounted}/")));
}
