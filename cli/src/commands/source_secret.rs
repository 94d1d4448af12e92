//! Reads the secret that a source shares with its sender: from an option, a file, the environment or a prompt.

use std::path::PathBuf;

use clap::Args;

use super::input::read_file;
use crate::edge;
use crate::failure::Failure;
use crate::hidden::Hidden;

const VARIABLE: &str = "POSTRIDER_SOURCE_SECRET";

/// Where the secret comes from. Without any of these, a prompt asks for it.
#[derive(Debug, Args)]
#[command(next_help_heading = "Secret")]
pub(crate) struct SecretArgs {
    /// The sender's signing secret; other users of this machine can see it [env: POSTRIDER_SOURCE_SECRET] [default: prompt]
    #[arg(long)]
    secret: Option<Hidden>,

    /// File with the secret; `-` is standard input. A trailing line break is ignored
    #[arg(long, value_name = "FILE", conflicts_with = "secret")]
    secret_file: Option<PathBuf>,
}

impl SecretArgs {
    /// Reads the secret, with this prompt if necessary.
    pub(crate) fn read(self, prompt: &str) -> Result<Hidden, Failure> {
        if let Some(secret) = self.secret {
            return Ok(secret);
        }
        if let Some(path) = self.secret_file {
            return from_bytes(read_file(&path)?);
        }
        if let Some(text) = edge::setting(VARIABLE).filter(|text| !text.is_empty()) {
            return Ok(text.into());
        }
        let typed = edge::ask_hidden(prompt)?;
        typed.map(Hidden::from).ok_or_else(|| {
            Failure::Input(format!(
                "no secret: set --secret-file FILE (`-` is standard input), --secret or {VARIABLE}"
            ))
        })
    }
}

/// Removes the line break that editors and `echo` add.
fn from_bytes(bytes: Vec<u8>) -> Result<Hidden, Failure> {
    let mut text = String::from_utf8(bytes)
        .map_err(|_| Failure::Input("the secret must be UTF-8 text".to_owned()))?;
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    Ok(text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_trailing_line_break_is_removed() {
        for (file, secret) in [
            ("It's a Secret\n", "It's a Secret"),
            ("x\r\n", "x"),
            (" x \n\n", " x \n"),
            ("x", "x"),
            ("", ""),
        ] {
            let read = from_bytes(file.as_bytes().to_vec()).unwrap();
            assert_eq!(read.expose(), secret, "{file:?}");
        }
        assert!(from_bytes(vec![0xff]).is_err());
    }
}
