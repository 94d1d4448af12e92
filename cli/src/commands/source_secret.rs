//! The secret that a source shares with its sender: given, in a file, in the environment, or asked for.

use std::path::PathBuf;

use clap::Args;

use super::input::read_file;
use crate::edge;
use crate::failure::Failure;
use crate::hidden::Hidden;

const VARIABLE: &str = "POSTRIDER_SOURCE_SECRET";

/// Where the secret comes from. Without any of these it is asked for, unseen.
#[derive(Debug, Args)]
#[command(next_help_heading = "Secret")]
pub(crate) struct SecretArgs {
    /// What the sender signs with; others on this machine can see it [env: POSTRIDER_SOURCE_SECRET] [default: asked for]
    #[arg(long)]
    secret: Option<Hidden>,

    /// A file that holds it; `-` is standard input. A line break at its end does not count
    #[arg(long, value_name = "FILE", conflicts_with = "secret")]
    secret_file: Option<PathBuf>,
}

impl SecretArgs {
    /// The secret, asking for it with these words if need be.
    pub(crate) fn read(self, question: &str) -> Result<Hidden, Failure> {
        if let Some(secret) = self.secret {
            return Ok(secret);
        }
        if let Some(path) = self.secret_file {
            return from_bytes(read_file(&path)?);
        }
        if let Some(text) = edge::setting(VARIABLE).filter(|text| !text.is_empty()) {
            return Ok(text.into());
        }
        let asked = edge::ask_hidden(question)?;
        asked.map(Hidden::from).ok_or_else(|| {
            Failure::Input(format!(
                "no secret: pass --secret-file FILE (`-` is standard input) or --secret, or set {VARIABLE}"
            ))
        })
    }
}

/// Editors and `echo` write a line break that is no part of it.
fn from_bytes(bytes: Vec<u8>) -> Result<Hidden, Failure> {
    let mut text = String::from_utf8(bytes)
        .map_err(|_| Failure::Input("the secret must be text in UTF-8".to_owned()))?;
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
    fn only_the_line_break_behind_a_secret_is_cut() {
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
