//! The architecture of built functions, read from their binaries.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::super::stack::Stack;
use crate::failure::Failure;

/// Where `sam build` writes.
const DEFAULT_FOLDER: &str = ".aws-sam/build";
/// Up to and including the machine: <https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.eheader.html>.
const HEADER_BYTES: u64 = 20;

/// A function's binary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Built {
    /// The function's name in the template.
    pub(super) function: String,
    pub(super) path: PathBuf,
    /// As Lambda calls it.
    pub(super) architecture: String,
}

/// The binaries in this folder. Without one, those of the last `sam build` here, if there are any.
pub(super) fn in_folder(folder: Option<PathBuf>, stack: &Stack) -> Result<Vec<Built>, Failure> {
    let is_given = folder.is_some();
    let folder = folder.unwrap_or_else(|| DEFAULT_FOLDER.into());
    let built: Vec<_> = stack
        .functions()
        .filter_map(|function| read(&function.logical, &folder))
        .collect();
    if is_given && built.is_empty() {
        return Err(Failure::Input(format!(
            "{} has no built functions: it needs ApiFunction/bootstrap and so on, as `sam build` writes them",
            folder.display()
        )));
    }
    Ok(built)
}

fn read(function: &str, folder: &Path) -> Option<Built> {
    let path = folder.join(function).join("bootstrap");
    let mut header = Vec::new();
    let file = File::open(&path).ok()?;
    file.take(HEADER_BYTES).read_to_end(&mut header).ok()?;
    Some(Built {
        function: function.to_owned(),
        path,
        architecture: architecture(&header),
    })
}

fn architecture(header: &[u8]) -> String {
    let is_little_endian_elf = header.starts_with(b"\x7fELF") && header.get(5) == Some(&1);
    let machine = header.get(18..20).filter(|_| is_little_endian_elf);
    match machine {
        Some([0xb7, 0]) => "arm64".to_owned(),
        Some([0x3e, 0]) => "x86_64".to_owned(),
        Some(_) => "another machine".to_owned(),
        None => "not a Linux binary".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::stack::tests::sample;
    use super::*;

    #[test]
    fn the_architecture_is_read_from_the_header() {
        let header = |machine: u8| {
            let mut header = b"\x7fELF\x02\x01\x01".to_vec();
            header.resize(18, 0);
            header.extend([machine, 0]);
            architecture(&header)
        };
        assert_eq!(header(0xb7), "arm64");
        assert_eq!(header(0x3e), "x86_64");
        assert_eq!(header(0x28), "another machine");
        assert_eq!(architecture(b"#!/bin/sh"), "not a Linux binary");
    }

    #[test]
    fn binaries_are_found_where_sam_builds_them() {
        let folder = tempfile::tempdir().unwrap();
        let missing = in_folder(Some(folder.path().to_owned()), &sample(&[]));
        missing.unwrap_err();
        let function = folder.path().join("ApiFunction");
        std::fs::create_dir(&function).unwrap();
        // This test is itself a binary of this machine.
        std::fs::copy(std::env::current_exe().unwrap(), function.join("bootstrap")).unwrap();
        let built = in_folder(Some(folder.path().to_owned()), &sample(&[])).unwrap();
        let expected = if cfg!(target_arch = "aarch64") {
            "arm64"
        } else {
            "x86_64"
        };
        if cfg!(target_os = "linux") {
            assert_eq!(built[0].architecture, expected);
        }
        assert_eq!(
            (built.len(), built[0].function.as_str()),
            (1, "ApiFunction")
        );
    }
}
