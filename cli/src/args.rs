//! The command line. The options of each command are defined in its module.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use url::{ParseError, Url};

use crate::commands::Task;
use crate::demo::DemoArgs;
use crate::dev::DevArgs;
use crate::hidden::Hidden;
use crate::output::{Format, Output};
use crate::serve::ServeArgs;
use crate::serve::settings::declared::DATA;

const DEFAULT_URL: &str = "http://127.0.0.1:8080";

const AFTER_HELP: &str = "\
Quick start, in three terminals:
  POSTRIDER_EGRESS_ALLOW=127.0.0.1/32 postrider serve
  postrider listen --register
  postrider send task.completed '{\"id\": 42}' --wait

Exit codes:
    0  success
    1  unsuccessful result: a signature does not match, a delivery is dead, a check failed
    2  invalid usage, or a file that cannot be read
    3  the gateway, or AWS, rejected the request
    4  the gateway is unreachable or reported an internal error
  130  interrupted with Ctrl-C";

/// Self-hosted webhook gateway: deliver signed webhooks, record every attempt, fix what failed
#[derive(Debug, Parser)]
#[command(name = "postrider", version, max_term_width = 100, after_help = AFTER_HELP)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_subcommand = true
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) gateway: GatewayArgs,

    #[command(flatten)]
    display: DisplayArgs,

    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Cli {
    pub(crate) fn output(&self) -> Output {
        let format = if self.display.json {
            Format::Json
        } else {
            Format::People
        };
        Output::new(format, self.display.no_color)
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the gateway on this machine
    Serve(ServeArgs),

    /// See it work: a gateway with receivers and traffic, on this machine, until Ctrl-C
    Demo(DemoArgs),

    /// Serve the store, queue and event sources to functions under development on this machine
    Dev(DevArgs),

    #[command(flatten)]
    Task(Task),
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Gateway")]
pub(crate) struct GatewayArgs {
    /// Address of the gateway
    #[arg(long, global = true, env = "POSTRIDER_URL", default_value = DEFAULT_URL, value_parser = gateway_url)]
    pub(crate) url: Url,

    /// API key [default: for a gateway on this machine, the key in its data directory]
    #[arg(
        long,
        global = true,
        env = "POSTRIDER_TOKEN",
        hide_env_values = true,
        value_name = "KEY"
    )]
    pub(crate) token: Option<Hidden>,

    /// Data directory of a gateway on this machine
    #[arg(long = DATA.values.flag, global = true, env = DATA.name, default_value = DATA.values.default, value_name = "DIR")]
    #[arg(value_parser = OsStringValueParser::new().map(directory))]
    pub(crate) data: PathBuf,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Display")]
struct DisplayArgs {
    /// Print JSON, as returned by the API
    #[arg(long, global = true)]
    json: bool,

    /// Print without colours; the same as NO_COLOR
    #[arg(long, global = true)]
    no_color: bool,
}

/// An empty variable counts as unset.
fn directory(text: OsString) -> PathBuf {
    if text.is_empty() {
        DATA.values.default.into()
    } else {
        text.into()
    }
}

fn gateway_url(text: &str) -> Result<Url, String> {
    let text = if text.is_empty() { DEFAULT_URL } else { text };
    let url = Url::parse(text).map_err(|error| {
        if error == ParseError::RelativeUrlWithoutBase {
            "must start with http:// or https://".to_owned()
        } else {
            error.to_string()
        }
    })?;
    let plain = url.username().is_empty() && url.password().is_none() && url.query().is_none();
    match url.scheme() {
        "http" | "https" if url.has_host() && plain => Ok(url),
        "http" | "https" => Err("must have a host, and no user, password or query".to_owned()),
        _ => Err("must start with http:// or https://".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn gateway_urls_are_validated() {
        assert_eq!(gateway_url("").unwrap().as_str(), "http://127.0.0.1:8080/");
        assert!(gateway_url("https://example.com/stage").is_ok());
        for bad in [
            "127.0.0.1:8080",
            "ftp://example.com",
            "https://user:pass@example.com",
            "https://example.com/?a=b",
        ] {
            assert!(gateway_url(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn global_options_work_before_and_after_the_command() {
        for line in [
            ["postrider", "--url", "http://h", "--json", "keys", "list"],
            ["postrider", "keys", "list", "--json", "--url", "http://h"],
        ] {
            let cli = Cli::try_parse_from(line).unwrap();
            assert_eq!(cli.gateway.url.as_str(), "http://h/");
            assert!(cli.output().wants_json());
        }
    }
}
