//! `postrider man`: the man pages, one per command. Hidden: packages contain them.

use std::path::PathBuf;

use clap::{Args, CommandFactory};

use crate::args::Cli;
use crate::failure::{Ending, Failure};

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Existing directory to write to
    directory: PathBuf,
}

pub(crate) fn run(args: &ManArgs) -> Result<Ending, Failure> {
    clap_mangen::generate_to(Cli::command(), &args.directory)?;
    Ok(Ending::Fine)
}
