//! Displays sources.

use postrider_api_types::source::{RouteView, SourceView};
use url::Url;

use super::generated::Generated;
use crate::output::{Output, Tone, printable_line};
use crate::table::{Mark, Table, facts};
use crate::views::ShowSource;
use crate::when::short_time;

pub(super) const SAVE_IT: &str = "Save it now: it is not shown again.";

pub(super) fn list(sources: Vec<SourceView>, out: Output) -> String {
    let mut table = Table::new(["ID", "NAME", "SCHEME", "ROUTES", "PATH"]);
    for source in sources {
        let name = printable_line(&source.name, 30);
        let routes = source.routes.len().to_string();
        table.row(
            Mark::None,
            [source.id, name, source.scheme, routes, source.url],
        );
    }
    table.show(out)
}

pub(super) fn one(source: &SourceView, base: &Url, out: Output) -> String {
    let expire: Vec<String> = source
        .secret_expires
        .iter()
        .copied()
        .map(short_time)
        .collect();
    let custom = source
        .custom
        .as_ref()
        .and_then(|custom| serde_json::to_value(custom).ok());
    let known = facts(
        out,
        [
            ("source", Some(source.id.clone())),
            ("name", Some(source.name.clone())),
            ("scheme", Some(source.scheme.clone())),
            ("custom scheme", custom.as_ref().map(described)),
            ("address", Some(source.address(base))),
            ("public URL", source.public_url.clone()),
            (
                "verify token",
                source.has_verify_token.then(|| "set".to_owned()),
            ),
            (
                "previous secrets",
                (!expire.is_empty()).then(|| format!("valid until {}", expire.join(", "))),
            ),
            ("created", Some(short_time(source.created_at))),
            ("updated", Some(short_time(source.updated_at))),
        ],
    );
    if source.routes.is_empty() {
        return format!(
            "{known}\n\nNo routes. Events of this source are stored but not sent.\n\
             To route them: postrider sources routes set {} --route 'TYPE=INTENT->wh_…'",
            source.id
        );
    }
    format!("{known}\n\n{}", routes(&source.routes, out))
}

/// `header x-signature, signed {timestamp}.{body}`: the fields that are set.
fn described(custom: &serde_json::Value) -> String {
    let fields = custom.as_object().into_iter().flatten();
    let set = fields
        .filter(|(_, value)| !value.is_null() && value.as_array().is_none_or(|a| !a.is_empty()));
    let texts = set.map(|(name, value)| match value.as_str() {
        Some(text) => format!("{name} {text}"),
        None => format!("{name} {value}"),
    });
    texts.collect::<Vec<_>>().join(", ")
}

pub(super) fn routes(routes: &[RouteView], out: Output) -> String {
    let mut table = Table::new(["EVENT TYPE", "INTENT", "SESSION", "WEBHOOK", "FILTER"]);
    for route in routes {
        table.row(
            Mark::None,
            [
                route.event_type.clone(),
                route.intent.clone(),
                route
                    .target_session
                    .clone()
                    .unwrap_or_else(|| "-".to_owned()),
                route.webhook_id.clone(),
                route
                    .filter
                    .as_ref()
                    .map_or_else(|| "-".to_owned(), ToString::to_string),
            ],
        );
    }
    table.show(out)
}

pub(super) fn generated(generated: &Generated, out: Output) -> String {
    let strong = |text: &str| out.paint(Tone::Strong, text);
    match &generated.private_key {
        Some(private) => format!(
            "public key   {}\nprivate key  {}   (for postrider trigger)",
            strong(generated.secret.expose()),
            strong(private.expose())
        ),
        None => format!("secret  {}", strong(generated.secret.expose())),
    }
}

pub(super) fn next_steps(source: &SourceView, is_local: bool) -> String {
    let SourceView {
        id,
        scheme,
        public_url,
        ..
    } = source;
    let (which, reach) = match public_url {
        Some(_) => ("public URL", ""),
        None if is_local => (
            "address",
            " For senders on other machines, set up a proxy or tunnel to it.",
        ),
        None => ("address", ""),
    };
    format!(
        "\nGive the {which} and the secret to the sender; see docs/inbound.md for where to enter them.{reach}\n\
         To try it: postrider trigger {scheme} --source {id}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Format;

    fn source(rest: &str) -> SourceView {
        let document = format!(
            r#"{{"id":"src_1","name":"Forge","url":"/gateway/webhooks/src_1","created_at":"2026-02-21T10:00:00Z","updated_at":"2026-02-21T10:00:00Z",{rest}}}"#
        );
        serde_json::from_str(&document).unwrap()
    }

    fn shown(source: &SourceView) -> String {
        let base = "http://127.0.0.1:8080".parse().unwrap();
        one(source, &base, Output::new(Format::People, true))
    }

    #[test]
    fn a_source_is_shown_with_its_address_and_routes() {
        let shown = shown(&source(
            r#""scheme":"github","public_url":null,"has_verify_token":false,
               "secret_expires":["2026-02-21T10:00:00Z"],"routes":[{"event_type":"pull_request.*","intent":"code_review",
               "target_session":null,"webhook_id":"wh_1"}]"#,
        ));
        for part in [
            "http://127.0.0.1:8080/gateway/webhooks/src_1",
            "valid until 2026-02-21 10:00:00Z",
            "pull_request.*  code_review  -        wh_1",
        ] {
            assert!(shown.contains(part), "{part} in {shown}");
        }
        assert!(!shown.contains("public URL"), "{shown}");
    }

    #[test]
    fn a_custom_scheme_is_shown_with_the_fields_that_are_set() {
        let shown = shown(&source(
            r#""scheme":"custom","public_url":null,"custom":{"header":"x-signature","prefix":null,"event_type":["body:/type"]}"#,
        ));
        assert!(shown.contains("header x-signature"), "{shown}");
        assert!(!shown.contains("prefix"), "{shown}");
        assert!(shown.contains("sources routes set src_1"), "{shown}");
    }
}
