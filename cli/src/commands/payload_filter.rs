//! `postrider filter`: tests a filter. Also the options with which a webhook gets one.

use std::path::PathBuf;

use bytes::Bytes;
use clap::{Args, Subcommand};
use postrider_api_types::json::Strict;
use postrider_api_types::payload_filter::FilterTestView;
use postrider_api_types::unique_json::UniqueJson;
use postrider_domain::payload_filter::{Payload, PayloadFilter};
use serde_json::Value;

use super::input::{BodyArgs, read_file};
use crate::failure::{Ending, Failure};
use crate::output::{Output, Tone};

const AFTER_HELP: &str = "\
Examples:
  postrider filter test --filter '{\"total\": [{\"numeric\": [\">\", 100]}]}' --body '{\"total\": 250}'
  postrider filter test --filter-file filter.json --file payload.json

Exit code 0 if the filter matches, 1 if it does not. What failed is shown as JSON pointers into the
filter. Filters are Amazon EventBridge event patterns; see docs/filters.md.";

#[derive(Debug, Args)]
pub(crate) struct FilterArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Say whether a filter matches a payload, and what keeps it from matching
    #[command(after_help = AFTER_HELP)]
    Test(TestArgs),
}

#[derive(Debug, Args)]
struct TestArgs {
    #[command(flatten)]
    filter: PatternArgs,

    #[command(flatten)]
    body: BodyArgs,
}

#[derive(Debug, Args)]
pub(super) struct PatternArgs {
    /// Event pattern over the payload, as JSON; `none` removes it from a webhook
    #[arg(long, value_name = "JSON")]
    filter: Option<String>,

    /// File with the event pattern; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "filter")]
    filter_file: Option<PathBuf>,
}

impl PatternArgs {
    /// The filter, if one is given; `Some(None)` removes it.
    pub(super) fn read(self) -> Result<Option<Option<Value>>, Failure> {
        match (self.filter, self.filter_file) {
            (Some(none), _) if none == "none" => Ok(Some(None)),
            (Some(text), _) => parse("--filter", text.as_bytes()).map(|filter| Some(Some(filter))),
            (None, Some(path)) => {
                parse("--filter-file", &read_file(&path)?).map(|filter| Some(Some(filter)))
            }
            (None, None) => Ok(None),
        }
    }
}

fn parse(option: &str, text: &[u8]) -> Result<Value, Failure> {
    let parsed = serde_json::from_slice(text).map(UniqueJson::value);
    parsed.map_err(|error| Failure::Input(format!("{option} must be JSON: {error}")))
}

pub(crate) fn run(args: FilterArgs, out: Output) -> Result<Ending, Failure> {
    let Action::Test(TestArgs { filter, body }) = args.action;
    let given = filter.read()?.flatten();
    let source = given.ok_or_else(|| Failure::Input("set --filter or --filter-file".to_owned()))?;
    let filter = PayloadFilter::compile("--filter", source);
    let filter = filter.map_err(|errors| Failure::Input(errors.to_string()))?;
    let tested = FilterTestView::of(&filter, &Payload::new(Bytes::from(body.read()?)));
    if out.wants_json() {
        out.value(&tested)?;
    } else {
        out.line(described(&tested, out))?;
    }
    Ok(Ending::of(tested.matches))
}

fn described(tested: &FilterTestView, out: Output) -> String {
    if tested.matches {
        return format!("{} matches", out.paint(Tone::Good, "✓"));
    }
    let failed = tested.failed.iter().map(|pointer| match pointer.as_str() {
        "" => "the whole filter".to_owned(),
        pointer => pointer.to_owned(),
    });
    let failed: Vec<String> = failed.collect();
    let cross = out.paint(Tone::Bad, "✗");
    format!("{cross} does not match: {}", failed.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Format;

    fn read(filter: &str) -> Result<Option<Option<Value>>, Failure> {
        let args = PatternArgs {
            filter: Some(filter.to_owned()),
            filter_file: None,
        };
        args.read()
    }

    #[test]
    fn a_filter_is_json_without_repeated_fields() {
        assert_eq!(read("none").unwrap(), Some(None));
        let filter = serde_json::json!({"a": [1]});
        assert_eq!(read(r#"{"a": [1]}"#).unwrap(), Some(Some(filter)));
        for bad in ["", "{", r#"{"a": [1], "a": [2]}"#] {
            assert!(matches!(read(bad), Err(Failure::Input(_))), "{bad}");
        }
    }

    #[test]
    fn what_failed_is_listed() {
        let out = Output::new(Format::People, true);
        let tested = |failed: &[&str]| FilterTestView {
            matches: failed.is_empty(),
            failed: failed.iter().map(ToString::to_string).collect(),
        };
        assert_eq!(described(&tested(&[]), out), "✓ matches");
        let text = described(&tested(&["/a", ""]), out);
        assert_eq!(text, "✗ does not match: /a, the whole filter");
    }
}
