//! The container image.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::stage::{Packaged, run, version};

/// The user of the image, as others than root are called in images without users.
const USER: &str = "65532:65532";

struct Layout {
    folder: PathBuf,
}

impl Layout {
    fn of(packaged: &Packaged) -> Self {
        let archive = packaged.path(&format!("postrider-{}-image.tar", version()));
        Self {
            folder: packaged.unpack(&archive, "image"),
        }
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&fs::read(self.folder.join(name)).unwrap()).unwrap()
    }

    /// The path of a blob whose digest and size match its descriptor.
    fn blob(&self, descriptor: &Value) -> PathBuf {
        let digest = descriptor["digest"].as_str().unwrap();
        let path = self.folder.join("blobs").join(digest.replace(':', "/"));
        let contents = fs::read(&path).unwrap();
        assert_eq!(sha256(&contents), digest);
        assert_eq!(descriptor["size"], contents.len());
        path
    }

    fn read(&self, descriptor: &Value) -> Value {
        serde_json::from_slice(&fs::read(self.blob(descriptor)).unwrap()).unwrap()
    }
}

fn sha256(contents: &[u8]) -> String {
    let digest = Sha256::digest(contents);
    format!("sha256:{}", data_encoding::HEXLOWER.encode(&digest))
}

fn unpacked(layer: &Path) -> Vec<u8> {
    let output = Command::new("gzip").arg("-dc").arg(layer).output().unwrap();
    assert!(output.status.success());
    output.stdout
}

#[test]
fn the_image_is_a_layout_for_both_architectures_whose_digests_match() {
    let packaged = Packaged::new();
    let layout = Layout::of(&packaged);
    assert_eq!(layout.json("oci-layout")["imageLayoutVersion"], "1.0.0");
    let index = layout.read(&layout.json("index.json")["manifests"][0]);
    let manifests = index["manifests"].as_array().unwrap();
    let architectures: Vec<_> = manifests
        .iter()
        .map(|it| &it["platform"]["architecture"])
        .collect();
    assert_eq!(architectures, ["amd64", "arm64"]);
    for manifest in manifests {
        let image = layout.read(manifest);
        let config = layout.read(&image["config"]);
        assert_eq!(config["architecture"], manifest["platform"]["architecture"]);
        let layers = image["layers"].as_array().unwrap();
        assert_eq!(layers.len(), 1);
        let layer = unpacked(&layout.blob(&layers[0]));
        assert_eq!(config["rootfs"]["diff_ids"][0], sha256(&layer));
    }
}

#[test]
fn the_image_runs_the_gateway_as_a_user_who_owns_the_volume() {
    let packaged = Packaged::new();
    let layout = Layout::of(&packaged);
    let index = layout.read(&layout.json("index.json")["manifests"][0]);
    let image = layout.read(&index["manifests"][0]);
    let config = layout.read(&image["config"]);
    let config = &config["config"];
    assert_eq!(config["User"], USER);
    assert_eq!(config["Entrypoint"][0], "/usr/bin/postrider");
    assert_eq!(config["Cmd"][0], "serve");
    assert!(config["Volumes"]["/var/lib/postrider"].is_object());
    assert_eq!(
        config["Labels"]["org.opencontainers.image.version"],
        version()
    );
    let listed = run(Command::new("tar")
        .args(["--numeric-owner", "-tvzf"])
        .arg(layout.blob(&image["layers"][0])));
    let line = |path: &str| {
        let found = listed.lines().find(|line| line.ends_with(path));
        found.unwrap_or_else(|| panic!("{path} is in {listed}"))
    };
    assert!(line(" var/lib/postrider/").starts_with("drwx------ 65532/65532 "));
    assert!(line(" usr/bin/postrider").starts_with("-rwxr-xr-x 0/0 "));
    assert!(line(" etc/ssl/certs/ca-certificates.crt").starts_with("-rw-r--r-- 0/0 "));
}

#[test]
fn versions_of_docker_without_support_for_layouts_find_both_images() {
    let packaged = Packaged::new();
    let layout = Layout::of(&packaged);
    let loadable = layout.json("manifest.json");
    for (entry, architecture) in loadable.as_array().unwrap().iter().zip(["amd64", "arm64"]) {
        let tag = format!("postrider:{}-{architecture}", version());
        assert_eq!(entry["RepoTags"][0], tag);
        let config = layout.json(entry["Config"].as_str().unwrap());
        assert_eq!(config["architecture"], architecture);
        let layer = layout.folder.join(entry["Layers"][0].as_str().unwrap());
        assert!(layer.is_file());
    }
}
