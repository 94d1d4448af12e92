//! A webhook's settings as options, and as the body of a request.

use std::collections::BTreeMap;

use clap::Args;
use postrider_domain::retry::RetrySettings;
use serde::Serialize;
use url::Url;

use super::super::retry_flags::RetryFlags;
use crate::failure::Failure;
use crate::hidden::Hidden;

#[derive(Debug, Args)]
pub(super) struct CreateArgs {
    /// Where deliveries go
    #[arg(long, visible_alias = "target-url", value_name = "URL")]
    to: String,

    /// Signing secret to bring along, whsec_… [default: one drawn by the gateway]
    #[arg(long)]
    secret: Option<Hidden>,

    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Debug, Args)]
pub(super) struct UpdateArgs {
    /// The webhook's id, wh_…
    pub(super) id: String,

    /// Where deliveries go
    #[arg(long, visible_alias = "target-url", value_name = "URL")]
    to: Option<String>,

    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Debug, Args)]
struct CommonArgs {
    /// What people call it [default: the host of the URL]
    #[arg(long)]
    name: Option<String>,

    /// What it subscribes to: types or patterns such as task.*; `*` is everything [default: *]
    #[arg(long, value_name = "TYPE,TYPE,…", value_delimiter = ',')]
    event_types: Option<Vec<String>>,

    /// Who is mailed when it fails or keeps failing; an empty text clears it
    #[arg(long, value_name = "ADDRESS")]
    owner_email: Option<String>,

    /// Header of its own; repeat it for several. They replace those that were there
    #[arg(long, value_name = "NAME: VALUE")]
    header: Vec<Hidden>,

    /// The whole time of an attempt, 1 to 30
    #[arg(long, value_name = "S")]
    timeout_seconds: Option<u32>,

    /// Retries a second, 1 to 10000
    #[arg(long, value_name = "N")]
    retry_rate: Option<u32>,

    /// Test a failed webhook with growing pauses and resume it when it answers
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    auto_resume: Option<bool>,

    #[command(flatten)]
    retry: RetryFlags,
}

/// The body of POST and PATCH. What is not given is left out.
#[derive(Default, PartialEq, Serialize)]
pub(crate) struct WebhookBody {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    event_types: Option<Vec<String>>,
    /// `Some(None)` clears it.
    #[serde(skip_serializing_if = "Option::is_none")]
    owner_email: Option<Option<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    headers: Option<BTreeMap<String, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout_seconds: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_rate: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    auto_resume: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry: Option<RetrySettings>,
}

impl WebhookBody {
    /// Whether it says nothing.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// A webhook with every setting left to the gateway.
    pub(crate) fn new(name: String, target_url: String, event_types: Vec<String>) -> Self {
        Self {
            name: Some(name),
            target_url: Some(target_url),
            event_types: Some(event_types),
            ..Self::default()
        }
    }
}

impl CreateArgs {
    pub(super) fn into_body(self) -> Result<WebhookBody, Failure> {
        let host = Url::parse(&self.to)
            .ok()
            .and_then(|url| url.host_str().map(str::to_owned));
        let mut body = self.common.into_body(RetrySettings::default())?;
        body.name = body.name.or(host).or_else(|| Some("webhook".to_owned()));
        body.event_types = body.event_types.or_else(|| Some(vec!["*".to_owned()]));
        body.secret = self
            .secret
            .map(|secret| secret.signing_secret())
            .transpose()?
            .map(|s| s.expose().to_owned());
        body.target_url = Some(self.to);
        Ok(body)
    }
}

impl UpdateArgs {
    /// Whether the change depends on the retry settings as they are.
    pub(super) fn needs_retry_settings(&self) -> bool {
        self.common.retry.any() && !self.common.retry.names_profile()
    }

    pub(super) fn into_body(
        self,
        retry_before: Option<RetrySettings>,
    ) -> Result<WebhookBody, Failure> {
        let mut body = self.common.into_body(retry_before.unwrap_or_default())?;
        body.target_url = self.to;
        Ok(body)
    }
}

impl CommonArgs {
    fn into_body(self, retry_before: RetrySettings) -> Result<WebhookBody, Failure> {
        let headers = self
            .header
            .iter()
            .map(parse_header)
            .collect::<Result<BTreeMap<_, _>, _>>()?;
        Ok(WebhookBody {
            name: self.name,
            target_url: None,
            event_types: self.event_types,
            owner_email: self
                .owner_email
                .map(|address| Some(address).filter(|address| !address.is_empty())),
            headers: (!headers.is_empty()).then_some(headers),
            secret: None,
            timeout_seconds: self.timeout_seconds,
            retry_rate: self.retry_rate,
            auto_resume: self.auto_resume,
            retry: self.retry.any().then(|| self.retry.over(retry_before)),
        })
    }
}

/// `Name: value`. What is wrong is not quoted: the value may be a credential.
fn parse_header(given: &Hidden) -> Result<(String, String), Failure> {
    let (name, value) = given.expose().split_once(':').unwrap_or_default();
    match (name.trim(), value.trim()) {
        ("", _) => Err(Failure::Input(
            "--header must be a name, a colon and a value".to_owned(),
        )),
        (name, value) => Ok((name.to_owned(), value.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use postrider_domain::retry::Profile;

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

    fn create(line: &[&str]) -> String {
        let args = Create::try_parse_from(["test"].iter().chain(line))
            .unwrap()
            .args;
        serde_json::to_string(&args.into_body().unwrap()).unwrap()
    }

    fn update(line: &[&str], before: Option<RetrySettings>) -> String {
        let args = Update::try_parse_from(["test", "wh_1"].iter().chain(line))
            .unwrap()
            .args;
        serde_json::to_string(&args.into_body(before).unwrap()).unwrap()
    }

    #[test]
    fn a_url_is_enough_to_create_one() {
        let expected =
            r#"{"name":"example.com","target_url":"https://example.com/x","event_types":["*"]}"#;
        assert_eq!(create(&["--to", "https://example.com/x"]), expected);
    }

    #[test]
    fn every_field_can_be_given() {
        let body = create(&[
            "--target-url",
            "https://example.com",
            "--name",
            "n",
            "--event-types",
            "a.*,b",
            "--event-types",
            "c",
            "--owner-email",
            "me@example.com",
            "--header",
            "X-A: 1",
            "--header",
            "x-b:2:3",
            "--timeout-seconds",
            "5",
            "--retry-rate",
            "9",
            "--auto-resume",
            "--profile",
            "custom",
            "--delays-seconds",
            "1,2",
            "--max-attempts",
            "4",
            "--jitter-bps",
            "100",
            "--max-backoff-seconds",
            "60",
            "--classifier",
            "by-status",
            "--redirects",
            "failure",
            "--on-exhausted",
            "fail-webhook",
        ]);
        let expected = concat!(
            r#"{"name":"n","target_url":"https://example.com","event_types":["a.*","b","c"],"#,
            r#""owner_email":"me@example.com","headers":{"X-A":"1","x-b":"2:3"},"timeout_seconds":5,"retry_rate":9,"#,
            r#""auto_resume":true,"retry":{"profile":"custom","max_attempts":4,"jitter_bps":100,"#,
            r#""delays_seconds":[1,2],"max_backoff_seconds":60,"classifier":"by-status","redirects":"failure","#,
            r#""on_exhausted":"fail-webhook"}}"#,
        );
        assert_eq!(body, expected);
    }

    #[test]
    fn an_update_names_only_what_changes() {
        assert_eq!(
            update(&["--auto-resume=false"], None),
            r#"{"auto_resume":false}"#
        );
        assert_eq!(
            update(&["--owner-email", ""], None),
            r#"{"owner_email":null}"#
        );
        let before = RetrySettings {
            profile: Profile::Standard,
            jitter_bps: Some(5),
            ..RetrySettings::default()
        };
        let expected = r#"{"retry":{"profile":"standard","max_attempts":3,"jitter_bps":5}}"#;
        assert_eq!(update(&["--max-attempts", "3"], Some(before)), expected);
    }

    #[test]
    fn a_bad_header_is_not_quoted() {
        for bad in ["canary", ": canary", ""] {
            let failure = parse_header(&bad.parse().unwrap()).unwrap_err().to_string();
            assert!(!failure.contains("canary"), "{failure}");
        }
    }
}
