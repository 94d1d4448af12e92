//! Bodies given on the command line, in a file or on standard input.

use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::failure::Failure;

/// Where a body comes from: one of three.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct BodyArgs {
    /// The body itself
    #[arg(long, value_name = "TEXT")]
    body: Option<String>,

    /// A file that holds the body, byte for byte
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,

    /// Read the body from standard input
    #[arg(value_name = "-", value_parser = ["-"], hide_possible_values = true)]
    stdin: Option<String>,
}

impl BodyArgs {
    /// The bytes, unchanged.
    pub(crate) fn read(self) -> Result<Vec<u8>, Failure> {
        match (self.body, self.file) {
            (Some(body), _) => Ok(body.into_bytes()),
            (None, Some(path)) => read_file(&path),
            (None, None) => read_stdin(),
        }
    }
}

/// A file's bytes; `-` is standard input.
pub(crate) fn read_file(path: &Path) -> Result<Vec<u8>, Failure> {
    if path == Path::new("-") {
        return read_stdin();
    }
    std::fs::read(path)
        .map_err(|error| Failure::Input(format!("cannot read {}: {error}", path.display())))
}

/// All of standard input.
pub(crate) fn read_stdin() -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().read_to_end(&mut bytes);
    read.map_err(|error| Failure::Input(format!("cannot read standard input: {error}")))?;
    Ok(bytes)
}
