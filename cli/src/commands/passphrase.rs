//! Reads the passphrase of an export: from a file, the environment or a prompt. Never from an argument, which other users of
//! the machine could see.

use std::path::PathBuf;

use clap::Args;

use super::input::read_file;
use crate::edge;
use crate::failure::Failure;
use crate::hidden::Hidden;

const VARIABLE: &str = "POSTRIDER_PASSPHRASE";
const MIN_CHARS: usize = 8;

#[derive(Debug, Args)]
pub(crate) struct PassphraseArgs {
    /// File with the passphrase; `-` is standard input. A trailing line break is ignored [env: POSTRIDER_PASSPHRASE]
    /// [default: prompt]
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

impl PassphraseArgs {
    /// The passphrase of an existing file.
    pub(crate) fn read(self) -> Result<Hidden, Failure> {
        match self.given()? {
            Some(passphrase) => Ok(passphrase),
            None => asked("Passphrase of the export: "),
        }
    }

    /// A passphrase for a new file. A prompt asks for it twice.
    pub(crate) fn choose(self) -> Result<Hidden, Failure> {
        let passphrase = match self.given()? {
            Some(passphrase) => passphrase,
            None => {
                let passphrase = asked("Choose a passphrase for the export: ")?;
                let again = asked("Repeat it: ")?;
                if again.expose() != passphrase.expose() {
                    return Err(Failure::Input("the passphrases differ".to_owned()));
                }
                passphrase
            }
        };
        if passphrase.expose().chars().count() < MIN_CHARS {
            return Err(Failure::Input(format!(
                "the passphrase must have at least {MIN_CHARS} characters"
            )));
        }
        Ok(passphrase)
    }

    fn given(self) -> Result<Option<Hidden>, Failure> {
        if let Some(path) = self.passphrase_file {
            let text = String::from_utf8(read_file(&path)?)
                .map_err(|_| Failure::Input("the passphrase must be UTF-8 text".to_owned()))?;
            let text = text.strip_suffix('\n').unwrap_or(&text);
            let text = text.strip_suffix('\r').unwrap_or(text);
            return Ok(Some(text.to_owned().into()));
        }
        let text = edge::setting(VARIABLE).filter(|text| !text.is_empty());
        Ok(text.map(Hidden::from))
    }
}

fn asked(question: &str) -> Result<Hidden, Failure> {
    let typed = edge::ask_hidden(question)?;
    typed.map(Hidden::from).ok_or_else(|| {
        Failure::Input(format!(
            "no passphrase: set --passphrase-file FILE (`-` is standard input) or {VARIABLE}"
        ))
    })
}
