//! Where to send a sample: a source of the gateway, or any URL.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use postrider_api_types::source::SourceView;
use postrider_domain::scheme::{CUSTOM, CustomDraft, Scheme};
use url::Url;

use super::super::input::read_file;
use crate::client::Client;
use crate::failure::Failure;
use crate::pages;
use crate::schemes;
use crate::views::ShowSource;

#[derive(Debug, Args)]
#[command(next_help_heading = "Target")]
pub(super) struct TargetArgs {
    /// Source id, src_… [default: the only source with this scheme]
    #[arg(long, value_name = "ID", conflicts_with_all = ["to", "custom"])]
    source: Option<String>,

    /// Any URL, such as http://localhost:3000/hook; works without a gateway
    #[arg(long, value_name = "URL")]
    to: Option<Url>,

    /// URL to sign, if the scheme signs it [default: the source's public URL, or that of --to]
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,

    /// JSON file that describes the scheme `custom`; only with --to
    #[arg(long, value_name = "FILE", requires = "to")]
    custom: Option<PathBuf>,
}

/// Where to send it, and how to sign it.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) scheme: Arc<Scheme>,
    /// Without the query.
    pub(super) url: Url,
    pub(super) query: Option<String>,
    pub(super) signed_url: String,
    /// The source id, unless it is sent to another URL.
    pub(super) source: Option<String>,
}

impl TargetArgs {
    pub(super) async fn find(self, scheme: &str, client: &Client) -> Result<Target, Failure> {
        match (self.to, self.source) {
            (Some(url), _) => other_url(scheme, url, self.custom, self.public_url),
            (None, Some(id)) => {
                let source: SourceView = client.get(&["v1", "sources", &id]).await?.read()?;
                if source.scheme != scheme {
                    return Err(Failure::Input(format!(
                        "the source {id} has the scheme `{}`, not `{scheme}`",
                        source.scheme
                    )));
                }
                at(source, client, self.public_url)
            }
            (None, None) => {
                let sources = pages::all(client, &["v1", "sources"]).await?.read()?;
                at(only(sources, scheme)?, client, self.public_url)
            }
        }
    }
}

fn other_url(
    name: &str,
    mut url: Url,
    custom: Option<PathBuf>,
    public_url: Option<String>,
) -> Result<Target, Failure> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Failure::Input(
            "--to must be an http or https URL".to_owned(),
        ));
    }
    let described = custom.map(|path| -> Result<CustomDraft, Failure> {
        serde_json::from_slice(&read_file(&path)?).map_err(|error| {
            Failure::Input(format!(
                "the --custom file does not describe a valid scheme: {error}"
            ))
        })
    });
    let described = described.transpose()?;
    if (name == CUSTOM) != described.is_some() {
        return Err(Failure::Input(
            "--custom is required with --to for the scheme `custom`, and not allowed for other schemes".to_owned(),
        ));
    }
    let query = url.query().map(str::to_owned);
    url.set_query(None);
    Ok(Target {
        scheme: schemes::scheme(name, described)?,
        signed_url: public_url.unwrap_or_else(|| url.to_string()),
        url,
        query,
        source: None,
    })
}

fn at(source: SourceView, client: &Client, public_url: Option<String>) -> Result<Target, Failure> {
    let address = source.address(client.base());
    let url = Url::parse(&address).map_err(|_| {
        Failure::NotUnderstood(format!("a source has the invalid address {address}"))
    })?;
    let signed_url = public_url.or(source.public_url).unwrap_or(address);
    Ok(Target {
        scheme: schemes::scheme(&source.scheme, source.custom)?,
        url,
        query: None,
        signed_url,
        source: Some(source.id),
    })
}

fn only(sources: Vec<SourceView>, scheme: &str) -> Result<SourceView, Failure> {
    let mut matching: Vec<SourceView> = sources
        .into_iter()
        .filter(|source| source.scheme == scheme)
        .collect();
    if matching.len() > 1 {
        let named = matching
            .iter()
            .map(|source| format!("{} ({})", source.id, source.name));
        return Err(Failure::Input(format!(
            "several sources have the scheme `{scheme}`; select one with --source: {}",
            named.collect::<Vec<_>>().join(", ")
        )));
    }
    matching.pop().ok_or_else(|| {
        Failure::Input(format!(
            "no source has the scheme `{scheme}`. Create one with `postrider sources create --scheme {scheme}`, or use --to to send to any URL"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(id: &str, scheme: &str) -> SourceView {
        let document = format!(
            r#"{{"id":"{id}","name":"n","scheme":"{scheme}","url":"/gateway/webhooks/{id}","public_url":null,
                "created_at":"2026-02-21T10:00:00Z","updated_at":"2026-02-21T10:00:00Z"}}"#
        );
        serde_json::from_str(&document).unwrap()
    }

    #[test]
    fn the_only_source_with_a_scheme_is_the_default() {
        let sources = |others: &[&str]| {
            let all = others.iter().map(|id| source(id, "github"));
            all.chain([source("src_x", "stripe")]).collect()
        };
        assert_eq!(only(sources(&["src_1"]), "github").unwrap().id, "src_1");
        let several = only(sources(&["src_1", "src_2"]), "github").unwrap_err();
        assert!(
            several.to_string().contains("src_1 (n), src_2 (n)"),
            "{several}"
        );
        let none = only(sources(&[]), "github").unwrap_err();
        assert!(none.to_string().contains("sources create --scheme github"));
    }

    #[test]
    fn a_url_is_signed_without_its_query() {
        let url = "http://localhost:3000/hook?a=1".parse().unwrap();
        let target = other_url("twilio", url, None, None).unwrap();
        assert_eq!(target.signed_url, "http://localhost:3000/hook");
        assert_eq!(target.query.as_deref(), Some("a=1"));
        let url = "ftp://localhost/".parse().unwrap();
        assert!(other_url("twilio", url, None, None).is_err());
    }
}
