//! `postrider template`: tests a template and shows presets. Also the options with which a webhook gets one.

use std::path::PathBuf;

use bytes::Bytes;
use clap::{Args, Subcommand};
use postrider_adapter_system::SystemClock;
use postrider_api_types::template::{PresetListView, RenderedView, TemplateFields, TemplateTest};
use postrider_domain::template::{Preset, RenderError, Rendered, TemplateDraft};
use postrider_gateway::template_preview::try_on_payload;
use postrider_ports::clock::Clock;
use serde_json::json;

use super::input::{read_file, read_stdin};
use crate::args::GatewayArgs;
use crate::client::Client;
use crate::failure::{Ending, Failure};
use crate::output::{Output, Tone};

const AFTER_HELP: &str = "\
Examples:
  postrider template test --template '{\"text\": \"{{ payload.title }}\"}' --body '{\"title\": \"Hi\"}'
  postrider template test --template-file slack.jinja --file payload.json
  postrider template test --template-file slack.jinja --event evt_…

Prints what would be sent. Exit code 1 if the template cannot be rendered. The language is Jinja; see
docs/templates.md.";

#[derive(Debug, Args)]
pub(crate) struct TemplatesArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Render a template for a payload (no network) or for a stored event
    #[command(after_help = AFTER_HELP)]
    Test(TestArgs),
    /// Print a preset, to be changed and used with --template-file
    Preset {
        /// One of slack, discord, teams
        name: Preset,
    },
}

#[derive(Debug, Args)]
struct TestArgs {
    #[command(flatten)]
    template: TemplateArgs,

    #[command(flatten)]
    tried: TriedArgs,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct TriedArgs {
    /// Payload as text
    #[arg(long, value_name = "JSON")]
    body: Option<String>,

    /// File with the payload
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,

    /// Id of a stored event, evt_…
    #[arg(long, value_name = "ID")]
    event: Option<String>,

    /// Read the payload from standard input
    #[arg(value_name = "-", value_parser = ["-"], hide_possible_values = true)]
    stdin: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct TemplateArgs {
    /// Jinja template of the body; `none` removes it from a webhook
    #[arg(long, value_name = "TEXT")]
    template: Option<String>,

    /// File with the template; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "template")]
    template_file: Option<PathBuf>,

    /// Copy of a template for slack, discord or teams
    #[arg(long, value_name = "NAME", conflicts_with_all = ["template", "template_file"])]
    template_preset: Option<Preset>,

    /// Content type of what the template renders [default: application/json]
    #[arg(long, value_name = "TYPE")]
    template_content_type: Option<String>,

    /// Jinja template of a query that is added to the URL
    #[arg(long, value_name = "TEXT")]
    template_query: Option<String>,
}

impl TemplateArgs {
    /// The template, if one is given; `Some(None)` removes it.
    pub(super) fn read(self) -> Result<Option<Option<TemplateFields>>, Failure> {
        let preset = self.template_preset.map(|preset| preset.body().to_owned());
        let body = match (self.template, self.template_file) {
            (Some(none), _) if none == "none" => return Ok(Some(None)),
            (Some(text), _) => Some(text),
            (None, Some(path)) => Some(text_of(read_file(&path)?)?),
            (None, None) => preset,
        };
        let has_parts = self.template_content_type.is_some() || self.template_query.is_some();
        match body {
            Some(body) => Ok(Some(Some(TemplateFields {
                body,
                content_type: self.template_content_type,
                query: self.template_query,
            }))),
            None if has_parts => Err(missing()),
            None => Ok(None),
        }
    }
}

fn missing() -> Failure {
    Failure::Input("set --template, --template-file or --template-preset".to_owned())
}

fn text_of(bytes: Vec<u8>) -> Result<String, Failure> {
    String::from_utf8(bytes)
        .map_err(|_| Failure::Input("the template must be UTF-8 text".to_owned()))
}

pub(crate) async fn run(
    args: TemplatesArgs,
    gateway: &GatewayArgs,
    out: Output,
) -> Result<Ending, Failure> {
    match args.action {
        Action::Test(args) => test(args, gateway, out).await,
        Action::Preset { name } => preset(name, out),
    }
}

async fn test(args: TestArgs, gateway: &GatewayArgs, out: Output) -> Result<Ending, Failure> {
    let fields = args.template.read()?.flatten().ok_or_else(missing)?;
    let TriedArgs {
        body, file, event, ..
    } = args.tried;
    if let Some(event) = event {
        let rendered = on_event(fields, event, &Client::new(gateway)?).await?;
        return shown(&rendered, out);
    }
    let payload = match (body, file) {
        (Some(body), _) => body.into(),
        (None, Some(path)) => read_file(&path)?.into(),
        (None, None) => read_stdin()?.into(),
    };
    match on_payload(fields, &payload)? {
        Ok(rendered) => shown(&RenderedView::from(rendered), out),
        Err(error) => failed(&error, out),
    }
}

fn failed(error: &RenderError, out: Output) -> Result<Ending, Failure> {
    if out.wants_json() {
        out.value(&json!({"error": error.to_string()}))?;
    } else {
        out.line(format!("{} {error}", out.paint(Tone::Bad, "✗")))?;
    }
    Ok(Ending::of(false))
}

fn shown(rendered: &RenderedView, out: Output) -> Result<Ending, Failure> {
    if out.wants_json() {
        out.value(rendered)?;
    } else {
        if let Some(query) = &rendered.query {
            out.line(format!("?{query}"))?;
        }
        out.line(format!("content-type: {}\n", rendered.content_type))?;
        out.line(&rendered.body)?;
    }
    Ok(Ending::of(true))
}

async fn on_event(
    template: TemplateFields,
    event: String,
    client: &Client,
) -> Result<RenderedView, Failure> {
    let tested = TemplateTest {
        template,
        payload: None,
        event_id: Some(event),
    };
    let answer = client.post(&["v1", "templates", "test"], &tested).await?;
    answer.read()
}

fn on_payload(
    fields: TemplateFields,
    payload: &Bytes,
) -> Result<Result<Rendered, RenderError>, Failure> {
    let checked = TemplateDraft::from(fields).check("template");
    let template = checked.map_err(|errors| Failure::Input(errors.to_string()))?;
    Ok(try_on_payload(&template, payload, SystemClock.now()))
}

fn preset(name: Preset, out: Output) -> Result<Ending, Failure> {
    if out.wants_json() {
        let all = PresetListView::all().items;
        let found = all.into_iter().find(|one| one.name == name.as_str());
        out.value(&found)?;
    } else {
        out.line(name.body().trim_end())?;
    }
    Ok(Ending::of(true))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args() -> TemplateArgs {
        TemplateArgs {
            template: None,
            template_file: None,
            template_preset: None,
            template_content_type: None,
            template_query: None,
        }
    }

    #[test]
    fn a_template_comes_from_text_a_file_or_a_preset() {
        let text = TemplateArgs {
            template: Some("{}".to_owned()),
            template_query: Some("a=1".to_owned()),
            ..args()
        };
        let read = text.read().unwrap().flatten().unwrap();
        assert_eq!(
            (read.body.as_str(), read.query.as_deref()),
            ("{}", Some("a=1"))
        );
        let preset = TemplateArgs {
            template_preset: Some(Preset::Teams),
            ..args()
        };
        let read = preset.read().unwrap().flatten().unwrap();
        assert!(read.body.contains("AdaptiveCard"));
        let none = TemplateArgs {
            template: Some("none".to_owned()),
            ..args()
        };
        assert_eq!(none.read().unwrap(), Some(None));
        assert_eq!(args().read().unwrap(), None);
        let parts = TemplateArgs {
            template_query: Some("a=1".to_owned()),
            ..args()
        };
        assert!(parts.read().is_err());
    }

    #[test]
    fn a_payload_is_rendered_without_a_gateway() {
        let fields = TemplateFields {
            body: "{\"a\": {{ payload.a }}}".to_owned(),
            ..TemplateFields::default()
        };
        let rendered = |payload| on_payload(fields.clone(), &Bytes::from_static(payload)).unwrap();
        assert_eq!(rendered(b"{\"a\": [1]}").unwrap().body, "{\"a\": [1]}");
        let failed = rendered(b"no").unwrap_err();
        assert_eq!(failed.to_string(), "the payload is not JSON");
    }
}
