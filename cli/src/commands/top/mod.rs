//! `postrider top`: a live overview.

mod frame;
mod keys;
mod line;
mod picture;
mod rates;
mod running;
mod screen;

use std::io::IsTerminal;

use clap::Args;

use self::frame::Frame;
use self::picture::Picture;
use crate::client::Client;
use crate::edge;
use crate::failure::{Ending, Failure};
use crate::output::Output;

/// Output that is not on a terminal is not truncated.
const UNLIMITED: usize = 1000;

const AFTER_HELP: &str = "\
Keys:
  j, k, arrows  select a failure     enter  show it with its attempts and why it failed
  r             retry it now         p      pause updates
  esc           back                 q      quit

Examples:
  postrider top
  postrider top --window 24h
  postrider top --once | mail -s postrider ops@example.com

Refreshes every 2 s, and sooner when something happens. If standard input or output is not a terminal, it \
prints one frame and exits, as with --once. Rates are measured while it runs.";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct TopArgs {
    /// How far back the stats go, 1h to 31d
    #[arg(long, default_value = "1h", value_name = "DURATION")]
    window: String,

    /// Print one frame and exit
    #[arg(long)]
    once: bool,
}

pub(crate) async fn run(args: TopArgs, client: &Client, out: Output) -> Result<Ending, Failure> {
    if out.wants_json() {
        return Err(Failure::Input(
            "top has no JSON output; use `stats`, `webhooks list` and `deliveries` with --json"
                .to_owned(),
        ));
    }
    let picture = Picture::take(client, &args.window).await?;
    let is_live = std::io::stdin().is_terminal()
        && std::io::stdout().is_terminal()
        && !edge::is_dumb_terminal();
    if is_live && !args.once {
        return running::run(picture, &args.window, client, out).await;
    }
    let frame = Frame {
        picture: &picture,
        gateway: client.base().as_str(),
        window: &args.window,
        rates: None,
        selected: None,
        message: None,
    };
    let lines = frame.whole().into_iter();
    let lines = lines.map(|line| line.paint(UNLIMITED, out).trim_end().to_owned());
    out.line(lines.collect::<Vec<_>>().join("\n"))?;
    Ok(Ending::Fine)
}
