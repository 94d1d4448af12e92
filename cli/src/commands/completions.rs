//! `postrider completions`: shell completions.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::args::Cli;
use crate::failure::{Ending, Failure};
use crate::output::Output;

const AFTER_HELP: &str = "\
Examples:
  postrider completions bash > ~/.local/share/bash-completion/completions/postrider
  postrider completions zsh > \"${fpath[1]}/_postrider\"
  postrider completions fish > ~/.config/fish/completions/postrider.fish";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct CompletionsArgs {
    /// Shell to generate completions for
    shell: Shell,
}

pub(crate) fn run(args: &CompletionsArgs, out: Output) -> Result<Ending, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "postrider", &mut script);
    out.line(String::from_utf8_lossy(&script).trim_end())?;
    Ok(Ending::Fine)
}
