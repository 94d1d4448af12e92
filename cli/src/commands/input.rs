//! Reads a body from the command line, a file or standard input.

use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::failure::Failure;

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct BodyArgs {
    /// Body as text
    #[arg(long, value_name = "TEXT")]
    body: Option<String>,

    /// File with the body, used byte for byte
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,

    /// Read the body from standard input
    #[arg(value_name = "-", value_parser = ["-"], hide_possible_values = true)]
    stdin: Option<String>,
}

impl BodyArgs {
    pub(crate) fn read(self) -> Result<Vec<u8>, Failure> {
        match (self.body, self.file) {
            (Some(body), _) => Ok(body.into_bytes()),
            (None, Some(path)) => read_file(&path),
            (None, None) => read_stdin(),
        }
    }
}

/// Reads a file; `-` is standard input.
pub(crate) fn read_file(path: &Path) -> Result<Vec<u8>, Failure> {
    if path == Path::new("-") {
        return read_stdin();
    }
    std::fs::read(path)
        .map_err(|error| Failure::Input(format!("cannot read {}: {error}", path.display())))
}

pub(crate) fn read_stdin() -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().read_to_end(&mut bytes);
    read.map_err(|error| Failure::Input(format!("cannot read standard input: {error}")))?;
    Ok(bytes)
}
