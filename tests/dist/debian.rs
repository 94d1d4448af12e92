//! The Debian package and its systemd unit.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::stage::{Packaged, run, version};
use crate::command::binary;

const PACKAGES: [&str; 2] = ["amd64", "arm64"];
/// In tenths. `systemd-analyze security` calls a service below 2.0 "OK"; most are above 9.
const EXPOSURE: &str = "20";

/// Unpacks the members of a package. They are in `control` and `data`.
fn unpack(packaged: &Packaged, architecture: &str) -> PathBuf {
    let package = packaged.read(&format!("postrider_{}_{architecture}.deb", version()));
    let mut rest = package.strip_prefix(b"!<arch>\n").unwrap();
    let mut names = Vec::new();
    while !rest.is_empty() {
        let (header, after) = rest.split_at(60);
        let header = std::str::from_utf8(header).unwrap();
        let size: usize = header[48..58].trim().parse().unwrap();
        let name = header[..16].trim().to_owned();
        let file = packaged.path(&format!("../{architecture}-{name}"));
        fs::write(&file, &after[..size]).unwrap();
        if let Some(folder) = name.strip_suffix(".tar.gz") {
            packaged.unpack(&file, &format!("{architecture}/{folder}"));
        }
        names.push(name);
        rest = &after[size + size % 2..];
    }
    assert_eq!(names, ["debian-binary", "control.tar.gz", "data.tar.gz"]);
    packaged.path(&format!("../{architecture}"))
}

#[test]
fn the_package_names_itself_its_architecture_and_what_it_needs() {
    let packaged = Packaged::new();
    for architecture in PACKAGES {
        let folder = unpack(&packaged, architecture);
        let control = fs::read_to_string(folder.join("control/control")).unwrap();
        let fields: BTreeMap<&str, &str> = control
            .lines()
            .filter_map(|line| line.split_once(": "))
            .collect();
        assert_eq!(fields["Package"], "postrider");
        assert_eq!(fields["Version"], version());
        assert_eq!(fields["Architecture"], architecture);
        assert!(fields["Depends"].contains("adduser"), "for its postinst");
        for field in ["Maintainer", "Installed-Size", "Homepage", "Description"] {
            assert!(!fields[field].is_empty(), "{field}");
        }
        let conffiles = fs::read_to_string(folder.join("control/conffiles")).unwrap();
        assert_eq!(conffiles, "/etc/postrider/postrider.env\n");
        for script in ["postinst", "prerm", "postrm"] {
            run(Command::new("sh")
                .arg("-n")
                .arg(folder.join("control").join(script)));
        }
    }
}

#[test]
fn the_package_contains_files_in_their_usual_places() {
    let packaged = Packaged::new();
    let folder = unpack(&packaged, "amd64");
    let listed = run(Command::new("tar")
        .args(["--numeric-owner", "-tvzf"])
        .arg(packaged.path("../amd64-data.tar.gz")));
    for line in listed.lines() {
        assert!(line.contains(" 0/0 "), "owned by root: {line}");
    }
    for (mode, path) in [
        ("-rwxr-xr-x", "usr/bin/postrider"),
        ("-rw-r--r--", "usr/lib/systemd/system/postrider.service"),
        ("-rw-------", "etc/postrider/postrider.env"),
        ("-rw-r--r--", "usr/share/man/man1/postrider-serve.1.gz"),
        (
            "-rw-r--r--",
            "usr/share/bash-completion/completions/postrider",
        ),
        ("-rw-r--r--", "usr/share/zsh/vendor-completions/_postrider"),
        (
            "-rw-r--r--",
            "usr/share/fish/vendor_completions.d/postrider.fish",
        ),
        ("-rw-r--r--", "usr/share/doc/postrider/copyright"),
    ] {
        let line = listed
            .lines()
            .find(|line| line.ends_with(&format!(" ./{path}")));
        assert!(line.is_some_and(|line| line.starts_with(mode)), "{path}");
    }
    let sums = folder.join("control/md5sums");
    run(Command::new("md5sum")
        .args(["--check", "--quiet"])
        .arg(sums)
        .current_dir(folder.join("data")));
}

#[test]
fn the_unit_is_valid_and_confined() {
    let packaged = Packaged::new();
    let folder = unpack(&packaged, "amd64");
    let unit = folder.join("data/usr/lib/systemd/system/postrider.service");
    let installed = fs::read_to_string(&unit).unwrap();
    for line in [
        "User=postrider",
        "ProtectSystem=strict",
        "StateDirectory=postrider",
        "EnvironmentFile=-/etc/postrider/postrider.env",
        "LimitNOFILE=65536",
        "Restart=always",
    ] {
        assert!(installed.lines().any(|it| it == line), "{line}");
    }
    // The check wants the program to exist.
    let here = installed.replace("/usr/bin/postrider", binary().to_str().unwrap());
    fs::write(&unit, here).unwrap();
    let verified = Command::new("systemd-analyze")
        .args(["verify", "--man=no"])
        .arg(&unit)
        .output()
        .expect("systemd-analyze is missing: `make setup` installs it");
    // It succeeds when it only warns of an unknown setting.
    let said = String::from_utf8_lossy(&verified.stderr);
    let about_it: Vec<_> = said
        .lines()
        .filter(|line| line.contains("postrider"))
        .collect();
    assert!(
        verified.status.success() && about_it.is_empty(),
        "{about_it:?}"
    );
    run(Command::new("systemd-analyze")
        .args(["security", "--offline=yes", "--threshold", EXPOSURE])
        .arg(&unit));
}
