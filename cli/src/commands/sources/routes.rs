//! Parses routes: `pull_request.*=code_review:reviewer-cluster->wh_…`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use postrider_api_types::source::{NewRoute, NewRoutes};
use serde::Deserialize;

use super::super::input::read_file;
use crate::failure::Failure;

pub(super) const SYNTAX: &str = "\
A route is TYPE=INTENT->WEBHOOK or TYPE=INTENT:SESSION->WEBHOOK, quoted for the shell. For each
webhook, the first route that matches applies. Filters, and values that contain `=`, `:` or `->`,
need a file:
  [{\"event_type\": \"a=b\", \"intent\": \"c\", \"target_session\": null, \"webhook_id\": \"wh_…\",
    \"filter\": {\"action\": [\"opened\"]}}]";

#[derive(Debug, Args)]
pub(super) struct RoutesArgs {
    /// Route, such as 'pull_request.*=code_review:reviewer-cluster->wh_…'; repeatable
    #[arg(long = "route", value_name = "TYPE=INTENT[:SESSION]->WEBHOOK")]
    routes: Vec<Written>,

    /// JSON file with routes in the format of the API; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "routes")]
    routes_file: Option<PathBuf>,
}

impl RoutesArgs {
    /// The routes, if any are given.
    pub(super) fn read(self) -> Result<Option<Vec<NewRoute>>, Failure> {
        match self.routes_file {
            Some(path) => from_json(&read_file(&path)?).map(Some),
            None if self.routes.is_empty() => Ok(None),
            None => Ok(Some(
                self.routes
                    .into_iter()
                    .map(|Written(route)| route)
                    .collect(),
            )),
        }
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum File {
    Listed(Vec<NewRoute>),
    Shown(NewRoutes),
}

fn from_json(bytes: &[u8]) -> Result<Vec<NewRoute>, Failure> {
    match serde_json::from_slice(bytes) {
        Ok(File::Listed(routes) | File::Shown(NewRoutes { routes })) => Ok(routes),
        Err(_) => Err(Failure::Input(
            "--routes-file must contain a JSON array of routes with event_type, intent, webhook_id and optionally target_session and filter"
                .to_owned(),
        )),
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Written(NewRoute);

impl FromStr for Written {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let form = "must be TYPE=INTENT->WEBHOOK or TYPE=INTENT:SESSION->WEBHOOK";
        let (event_type, rest) = text.split_once('=').ok_or(form)?;
        let (purpose, webhook_id) = rest.rsplit_once("->").ok_or(form)?;
        let (intent, session) = match purpose.split_once(':') {
            Some((intent, session)) => (intent, Some(session)),
            None => (purpose, None),
        };
        let parts = [event_type, intent, session.unwrap_or("-"), webhook_id].map(str::trim);
        if parts.iter().any(|part| part.is_empty()) {
            return Err(form);
        }
        Ok(Self(NewRoute {
            event_type: event_type.trim().to_owned(),
            filter: None,
            intent: intent.trim().to_owned(),
            target_session: session.map(|session| session.trim().to_owned()),
            webhook_id: webhook_id.trim().to_owned(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(session: Option<&str>) -> NewRoute {
        NewRoute {
            event_type: "pull_request.*".to_owned(),
            filter: None,
            intent: "code_review".to_owned(),
            target_session: session.map(str::to_owned),
            webhook_id: "wh_1".to_owned(),
        }
    }

    #[test]
    fn routes_are_parsed() {
        for (text, session) in [
            ("pull_request.*=code_review->wh_1", None),
            (" pull_request.* = code_review -> wh_1 ", None),
            (
                "pull_request.*=code_review:reviewer-cluster->wh_1",
                Some("reviewer-cluster"),
            ),
            ("pull_request.*=code_review:a:b->wh_1", Some("a:b")),
        ] {
            assert_eq!(text.parse(), Ok(Written(route(session))), "{text}");
        }
        for bad in ["", "a", "a=b", "a->b", "=b->c", "a=->c", "a=b->", "a=b:->c"] {
            assert!(bad.parse::<Written>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_file_may_contain_what_the_api_returns() {
        let listed =
            r#"[{"event_type":"pull_request.*","intent":"code_review","webhook_id":"wh_1"}]"#;
        assert_eq!(from_json(listed.as_bytes()).unwrap(), [route(None)]);
        let shown = r#"{"routes":[{"event_type":"pull_request.*","intent":"code_review","target_session":"s","webhook_id":"wh_1"}]}"#;
        assert_eq!(from_json(shown.as_bytes()).unwrap(), [route(Some("s"))]);
        assert!(matches!(from_json(b"{}"), Err(Failure::Input(_))));
    }
}
