//! Packages a release into a temporary directory.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::command::binary;

pub(super) const EPOCH: &str = "1763000000";
/// With the number of the processor in an ELF header.
pub(super) const TARGETS: [(&str, u8); 2] = [
    ("x86_64-unknown-linux-musl", 62),
    ("aarch64-unknown-linux-musl", 183),
];

pub(super) fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

pub(super) fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// The names of the template's functions.
pub(super) fn functions() -> Vec<String> {
    let template = fs::read_to_string(repository().join("template.yaml")).unwrap();
    let lines: Vec<_> = template.lines().collect();
    let declared = lines
        .windows(2)
        .filter(|pair| pair[1].trim() == "Type: AWS::Serverless::Function");
    declared
        .map(|pair| pair[0].trim().trim_end_matches(':').to_owned())
        .collect()
}

pub(super) struct Packaged {
    folder: TempDir,
}

impl Packaged {
    pub(super) fn new() -> Self {
        Self::with(&[])
    }

    /// With these variables, as another machine would have them.
    pub(super) fn with(variables: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut package = Command::new("python3");
        package.arg(repository().join("tools/dist/package"));
        for (target, machine) in TARGETS {
            let path = folder.path().join(target);
            fs::write(&path, stand_in(machine)).unwrap();
            let mut pair = std::ffi::OsString::from(format!("{target}="));
            pair.push(path);
            package.arg("--binary").arg(pair);
        }
        let certificates = folder.path().join("certificates.pem");
        fs::write(&certificates, "-----BEGIN CERTIFICATE-----\n").unwrap();
        let bill = folder.path().join("bill.json");
        fs::write(&bill, "{}").unwrap();
        package.arg("--command").arg(binary());
        package.arg("--bill").arg(bill);
        package.arg("--certificates").arg(certificates);
        package
            .arg("--functions")
            .arg(built_functions(folder.path()));
        package.args(["--epoch", EPOCH, "--out"]);
        package.arg(folder.path().join("out"));
        package
            .current_dir(folder.path())
            .envs(variables.iter().copied());
        run(&mut package);
        Self { folder }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("out").join(name)
    }

    pub(super) fn read(&self, name: &str) -> Vec<u8> {
        let path = self.path(name);
        fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    pub(super) fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).unwrap()
    }

    /// Unpacks an archive into a new directory and returns it.
    pub(super) fn unpack(&self, archive: &Path, into: &str) -> PathBuf {
        let into = self.folder.path().join(into);
        fs::create_dir_all(&into).unwrap();
        run(Command::new("tar")
            .arg("-xf")
            .arg(archive)
            .arg("-C")
            .arg(&into));
        into
    }
}

/// The beginning of an ELF file, which names the processor.
fn stand_in(machine: u8) -> Vec<u8> {
    let mut header = vec![0; 64];
    header[..4].copy_from_slice(b"\x7fELF");
    header[18] = machine;
    header
}

fn built_functions(folder: &Path) -> PathBuf {
    let built = folder.join("functions");
    for function in functions() {
        let own = built.join(function.trim_end_matches("Function"));
        fs::create_dir_all(&own).unwrap();
        let (_, machine) = TARGETS[1];
        let program = [stand_in(machine), function.into_bytes()].concat();
        fs::write(own.join("bootstrap"), program).unwrap();
    }
    built
}

/// Runs a program, which must succeed, and returns what it prints.
pub(super) fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command:?}: {error}");
    String::from_utf8(output.stdout).unwrap()
}
