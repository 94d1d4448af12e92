//! Diagnoses a captured request locally, without a gateway.

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;
use postrider_api_types::rejected::FindingView;
use postrider_domain::diagnosis::{self, Finding};
use postrider_domain::ids::{SourceId, TenantId};
use postrider_domain::scheme::{CustomDraft, Scheme};
use postrider_domain::secret::{SecretRing, SharedSecret};
use postrider_domain::source::{Source, SourceDraft};
use postrider_domain::time::Timestamp;
use postrider_presentation::rejected;
use serde_json::json;

use super::request_file::parse;
use super::show;
use crate::commands::input::read_file;
use crate::commands::source_secret::SecretArgs;
use crate::edge;
use crate::failure::{Ending, Failure};
use crate::output::Output;
use crate::when::When;

#[derive(Debug, Args)]
#[command(next_help_heading = "Captured request")]
pub(super) struct CapturedArgs {
    /// File with a captured request; diagnosed locally, without the gateway
    #[arg(long, value_name = "FILE", requires = "scheme")]
    request: Option<PathBuf>,

    /// How the sender signs
    #[arg(long, requires = "request", value_parser = PossibleValuesParser::new(Scheme::names()))]
    scheme: Option<String>,

    /// JSON file that describes the scheme `custom`
    #[arg(long, value_name = "FILE", requires = "request")]
    custom: Option<PathBuf>,

    /// URL that the sender called, without the query
    #[arg(long, value_name = "URL", requires = "request")]
    public_url: Option<String>,

    /// When it was received: RFC 3339, or how long ago, such as 2h
    #[arg(long, value_name = "TIME", default_value = "now", requires = "request")]
    at: When,

    #[command(flatten)]
    secret: SecretArgs,
}

pub(super) fn run(args: CapturedArgs, out: Output) -> Result<Ending, Failure> {
    let (Some(request), Some(scheme)) = (args.request, args.scheme) else {
        return Err(Failure::Input(
            "--request and --scheme are required".to_owned(),
        ));
    };
    let inbound = parse(&read_file(&request)?)?;
    let custom = args.custom.map(|path| -> Result<CustomDraft, Failure> {
        let described = serde_json::from_slice(&read_file(&path)?);
        described.map_err(|error| {
            Failure::Input(format!(
                "the --custom file does not describe a valid scheme: {error}"
            ))
        })
    });
    let draft = SourceDraft {
        name: scheme.clone(),
        scheme,
        custom: custom.transpose()?,
        public_url: args.public_url,
        ..SourceDraft::default()
    };
    let now = args.at.resolve(edge::now());
    let secret = args.secret.read("The sender's signing secret: ")?;
    let secret = SharedSecret::parse(secret.expose())
        .map_err(|error| Failure::Input(format!("the secret {error}")))?;
    let source = source(draft, secret, now)?;
    let findings = diagnosis::diagnose(&inbound, &source, now);
    let is_right = findings == [Finding::Matches];
    let view = |finding| rejected::view(finding, "src_…");
    let findings: Vec<FindingView> = findings.iter().map(view).collect();
    if out.wants_json() {
        out.value(&json!({ "findings": findings }))?;
    } else {
        out.line(show::findings(&findings, out))?;
    }
    Ok(Ending::of(is_right))
}

fn source(draft: SourceDraft, secret: SharedSecret, now: Timestamp) -> Result<Source, Failure> {
    let checked = draft.check(|_| false).and_then(|settings| {
        settings.check_secret(&secret)?;
        Ok(settings)
    });
    let settings = checked.map_err(|faults| Failure::Input(faults.to_string()))?;
    Ok(Source {
        id: SourceId::from_bytes([0; 16]),
        tenant: TenantId::default(),
        settings,
        secrets: SecretRing::new(secret),
        created_at: now,
        updated_at: now,
    })
}
