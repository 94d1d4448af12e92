//! A source's settings as options and as a request body.

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::PossibleValuesParser;
use postrider_api_types::source::NewRoute;
use postrider_domain::scheme::{CUSTOM, CustomDraft, Scheme};
use serde::Serialize;
use serde_json::Value;
use url::Url;

use super::super::input::read_file;
use super::super::source_secret::SecretArgs;
use super::generated::Generated;
use super::routes::RoutesArgs;
use crate::failure::Failure;
use crate::hidden::Hidden;
use crate::schemes::scheme;

#[derive(Debug, Args)]
pub(super) struct CreateArgs {
    /// How the sender signs
    #[arg(long, value_parser = PossibleValuesParser::new(Scheme::names()))]
    scheme: String,

    /// Generate a secret and show it once; for schemes with public keys, also the private key for testing
    #[arg(long, conflicts_with_all = ["secret", "secret_file"])]
    generate: bool,

    /// Address at which senders reach the gateway, such as https://hooks.example.com; the public URL is this plus the
    /// source's path
    #[arg(long, value_name = "URL", conflicts_with = "public_url")]
    pub(super) public_base: Option<Url>,

    #[command(flatten)]
    common: CommonArgs,

    #[command(flatten)]
    secret: SecretArgs,
}

#[derive(Debug, Args)]
pub(super) struct UpdateArgs {
    /// Source id, src_…
    pub(super) id: String,

    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Debug, Args)]
struct CommonArgs {
    /// Display name [default: the scheme]
    #[arg(long)]
    name: Option<String>,

    /// URL that the sender calls, without the query; required if the scheme signs it. Empty removes it
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,

    /// JSON file that describes the scheme `custom`; `-` is standard input
    #[arg(long, value_name = "FILE")]
    custom: Option<PathBuf>,

    /// Verify token that Meta sends to confirm the address; empty removes it [default: the secret]
    #[arg(long, value_name = "TOKEN")]
    verify_token: Option<Hidden>,

    #[command(flatten)]
    routes: RoutesArgs,
}

/// The body of POST and PATCH. Settings that are not given are omitted; `Some(None)` removes one.
#[derive(Default, PartialEq, Serialize)]
pub(super) struct SourceBody {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scheme: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    public_url: Option<Option<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    custom: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verify_token: Option<Option<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    routes: Option<Vec<NewRoute>>,
}

impl CreateArgs {
    /// The body, and the generated secret if any.
    pub(super) fn into_body(self) -> Result<(SourceBody, Option<Generated>), Failure> {
        let mut body = self.common.into_body()?;
        // A scheme that signs the URL needs one from the start, although the id in it is not known yet.
        body.public_url = body
            .public_url
            .or(self.public_base.map(|url| Some(url.into())));
        if (self.scheme == CUSTOM) != body.custom.is_some() {
            return Err(Failure::Input(
                "--custom is required for the scheme `custom`, and not allowed for other schemes"
                    .to_owned(),
            ));
        }
        let generated = if self.generate {
            let custom = body.custom.clone().map(described).transpose()?;
            let generated = Generated::new(&*scheme(&self.scheme, custom)?)?;
            body.secret = Some(generated.secret.expose().to_owned());
            Some(generated)
        } else {
            let prompt = format!(
                "The sender's signing secret ({}; to generate one, use --generate): ",
                self.scheme
            );
            body.secret = Some(self.secret.read(&prompt)?.expose().to_owned());
            None
        };
        body.name = body.name.or_else(|| Some(self.scheme.clone()));
        body.scheme = Some(self.scheme);
        Ok((body, generated))
    }
}

impl SourceBody {
    /// Changes only the public URL.
    pub(super) fn public_url(url: String) -> Self {
        Self {
            public_url: Some(Some(url)),
            ..Self::default()
        }
    }
}

impl UpdateArgs {
    pub(super) fn into_body(self) -> Result<SourceBody, Failure> {
        let body = self.common.into_body()?;
        if body == SourceBody::default() {
            return Err(Failure::Input(
                "nothing to change: give at least one setting".to_owned(),
            ));
        }
        Ok(body)
    }
}

impl CommonArgs {
    fn into_body(self) -> Result<SourceBody, Failure> {
        let cleared = |text: String| Some(text).filter(|text| !text.is_empty());
        Ok(SourceBody {
            name: self.name,
            public_url: self.public_url.map(cleared),
            custom: self.custom.as_deref().map(read_custom).transpose()?,
            verify_token: self
                .verify_token
                .map(|token| cleared(token.expose().to_owned())),
            routes: self.routes.read()?,
            ..SourceBody::default()
        })
    }
}

/// Checks only that it is an object; the gateway validates the content.
fn read_custom(path: &Path) -> Result<Value, Failure> {
    match serde_json::from_slice(&read_file(path)?) {
        Ok(described @ Value::Object(_)) => Ok(described),
        Ok(_) => Err(Failure::Input(
            "the --custom file must contain a JSON object".to_owned(),
        )),
        Err(error) => Err(Failure::Input(format!(
            "the --custom file must contain a JSON object: {error}"
        ))),
    }
}

fn described(custom: Value) -> Result<CustomDraft, Failure> {
    serde_json::from_value(custom).map_err(|error| {
        Failure::Input(format!(
            "the --custom file does not describe a valid scheme: {error}"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Create {
        #[command(flatten)]
        args: CreateArgs,
    }

    #[derive(Parser)]
    struct Update {
        #[command(flatten)]
        args: UpdateArgs,
    }

    fn create(line: &[&str]) -> Result<(SourceBody, Option<Generated>), Failure> {
        let args = Create::try_parse_from(["test"].iter().chain(line)).unwrap();
        args.args.into_body()
    }

    fn update(line: &[&str]) -> Result<String, Failure> {
        let args = Update::try_parse_from(["test", "src_1"].iter().chain(line)).unwrap();
        let body = args.args.into_body()?;
        Ok(serde_json::to_string(&body).unwrap())
    }

    #[test]
    fn every_field_can_be_set() {
        let (body, _) = create(&[
            "--scheme",
            "meta",
            "--secret",
            "s",
            "--name",
            "WhatsApp",
            "--public-url",
            "https://h/in",
            "--verify-token",
            "v",
            "--route",
            "a=b:c->wh_1",
            "--route",
            "*=d->wh_2",
        ])
        .unwrap();
        let expected = concat!(
            r#"{"name":"WhatsApp","scheme":"meta","secret":"s","public_url":"https://h/in","verify_token":"v","routes":["#,
            r#"{"event_type":"a","intent":"b","target_session":"c","webhook_id":"wh_1"},"#,
            r#"{"event_type":"*","intent":"d","webhook_id":"wh_2"}]}"#,
        );
        assert_eq!(serde_json::to_string(&body).unwrap(), expected);
    }

    #[test]
    fn a_generated_secret_fits_every_scheme() {
        for scheme in Scheme::all() {
            let (body, generated) = create(&["--scheme", scheme.name, "--generate"]).unwrap();
            assert_eq!(body.name.as_deref(), Some(scheme.name));
            let secret = generated.unwrap().secret;
            assert_eq!(body.secret.as_deref(), Some(secret.expose()));
            assert_eq!(scheme.check_secret(&secret), Ok(()), "{}", scheme.name);
        }
    }

    #[test]
    fn a_description_is_only_for_the_scheme_custom() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("custom.json");
        std::fs::write(&file, r#"{"header":"x-signature"}"#).unwrap();
        let file = file.to_str().unwrap();
        let (body, _) = create(&["--scheme", "custom", "--secret", "s", "--custom", file]).unwrap();
        assert_eq!(body.custom.unwrap()["header"], "x-signature");
        assert!(create(&["--scheme", "custom", "--secret", "s"]).is_err());
        assert!(create(&["--scheme", "github", "--secret", "s", "--custom", file]).is_err());
    }

    #[test]
    fn an_update_contains_only_what_changes() {
        assert_eq!(update(&["--name", "n"]).unwrap(), r#"{"name":"n"}"#);
        assert_eq!(
            update(&["--public-url", "", "--verify-token", ""]).unwrap(),
            r#"{"public_url":null,"verify_token":null}"#
        );
        assert!(matches!(update(&[]), Err(Failure::Input(_))));
    }
}
