//! The archives, the zips, the checksums, and that packaging is reproducible.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use sha2::{Digest, Sha256};

use super::stage::{Packaged, functions, run, version};
use crate::command::binary;

/// The commands that `--help` lists, such as `webhooks create`.
fn commands(within: &[String]) -> Vec<Vec<String>> {
    let help = run(Command::new(binary()).args(within).arg("--help"));
    let listed = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty());
    // The continuation of a long description is indented further.
    let names = listed.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let names = names.filter(|name| !["", "help"].contains(name));
    let mut found = Vec::new();
    for name in names {
        let command = [within, &[name.to_owned()]].concat();
        found.extend(commands(&command));
        found.push(command);
    }
    found
}

#[test]
fn every_command_has_a_man_page_and_completions() {
    let packaged = Packaged::new();
    let name = format!("postrider-{}-x86_64-linux", version());
    let folder = packaged
        .unpack(&packaged.path(&format!("{name}.tar.gz")), "archive")
        .join(name);
    let commands = commands(&[]);
    assert!(commands.len() > 30, "{commands:?}");
    for command in &commands {
        let page = folder.join(format!("man/man1/postrider-{}.1", command.join("-")));
        assert!(page.is_file(), "{}", page.display());
        for script in ["postrider", "_postrider", "postrider.fish"] {
            let text = fs::read_to_string(folder.join("completions").join(script)).unwrap();
            let last = command.last().unwrap();
            assert!(text.contains(last.as_str()), "{last} in {script}");
        }
    }
    let overview = fs::read_to_string(folder.join("man/man1/postrider.1")).unwrap();
    assert!(!overview.contains("postrider\\-man"), "it is hidden");
    for file in ["postrider", "LICENSE", "README.md"] {
        assert!(folder.join(file).is_file(), "{file}");
    }
}

#[test]
fn the_zips_are_named_after_the_functions_of_the_template_and_their_processor() {
    let packaged = Packaged::new();
    let functions = functions();
    assert_eq!(functions.len(), 9, "{functions:?}");
    for function in functions {
        let zip = packaged.path(&format!(
            "postrider-{}-lambda-arm64-{function}.zip",
            version()
        ));
        let read = "import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); i = z.infolist(); \
                    print(len(i), i[0].filename, oct(i[0].external_attr >> 16), z.read(i[0])[64:].decode())";
        let listed = run(Command::new("python3").args(["-c", read]).arg(zip));
        assert_eq!(listed.trim(), format!("1 bootstrap 0o100755 {function}"));
    }
}

#[test]
fn every_file_has_its_checksum() {
    let packaged = Packaged::new();
    let sums = packaged.text("SHA256SUMS");
    let mut summed = BTreeSet::new();
    for line in sums.lines() {
        let (sum, name) = line.split_once("  ").unwrap();
        let digest = Sha256::digest(packaged.read(name));
        assert_eq!(data_encoding::HEXLOWER.encode(&digest), sum, "{name}");
        summed.insert(name.to_owned());
    }
    let mut files: BTreeSet<String> = fs::read_dir(packaged.path("."))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.remove("SHA256SUMS");
    assert_eq!(files, summed);
}

#[test]
fn packaging_twice_gives_the_same_bytes() {
    let one = Packaged::new();
    let elsewhere = [
        ("TZ", "Asia/Tokyo"),
        ("LANG", "C"),
        ("PYTHONHASHSEED", "7"),
        ("POSTRIDER_URL", "https://gateway.example.com"),
        ("COLUMNS", "60"),
    ];
    let other = Packaged::with(&elsewhere);
    assert_eq!(one.text("SHA256SUMS"), other.text("SHA256SUMS"));
}
