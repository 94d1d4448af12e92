//! `postrider event-types`: the catalogue of event types.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use postrider_api_types::event_type::{EventTypeView, NewEventType};
use postrider_domain::event_catalogue::{CatalogueDraft, import};
use serde_json::Value;

use super::input::read_file;
use crate::client::{Answer, Client};
use crate::failure::{Ending, Failure};
use crate::output::Output;
use crate::pages;
use crate::table::{Mark, Table, facts};
use crate::when::short_time;

const AFTER_HELP: &str = "\
Examples:
  postrider event-types list
  postrider event-types put order.paid --description 'An order was paid' --schema-file order.json
  postrider event-types put order.payed --deprecated
  postrider event-types import openapi.json

With a key of the tenant `default`, entries apply to all tenants; a tenant's own entry wins.";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct EventTypesArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List event types
    List,
    /// Show an event type with its schema and examples
    Show {
        /// Event type, such as order.paid
        name: String,
    },
    /// Create or replace an event type
    Put(PutArgs),
    /// Delete an event type from the catalogue; events of that type are not affected
    Delete {
        /// Event type, such as order.paid
        name: String,
    },
    /// Create or replace the event types in the section `webhooks` of an OpenAPI 3.1 document
    Import {
        /// OpenAPI document as JSON; `-` is standard input
        #[arg(value_name = "FILE")]
        file: PathBuf,

        /// Show what would be imported and change nothing
        #[arg(long)]
        dry_run: bool,
    },
}

#[derive(Debug, Args)]
struct PutArgs {
    /// Event type, such as order.paid
    name: String,

    /// What it means
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,

    /// Group in which lists show it
    #[arg(long, value_name = "NAME")]
    group: Option<String>,

    /// File with a JSON Schema (2020-12) of the payload; `-` is standard input
    #[arg(long, value_name = "FILE")]
    schema_file: Option<PathBuf>,

    /// File with an example of the payload; repeatable
    #[arg(long, value_name = "FILE")]
    example_file: Vec<PathBuf>,

    /// Receivers should move on, although it is still published
    #[arg(long)]
    deprecated: bool,

    /// It is no longer published
    #[arg(long)]
    archived: bool,
}

pub(crate) async fn run(
    args: EventTypesArgs,
    client: &Client,
    out: Output,
) -> Result<Ending, Failure> {
    match args.action {
        Action::List => list(client, out).await?,
        Action::Show { name } => {
            let answer = client.get(&["v1", "event-types", &name]).await?;
            shown(&answer, out)?;
        }
        Action::Put(args) => {
            let (name, body) = args.read()?;
            shown(&put(client, &name, &body).await?, out)?;
        }
        Action::Delete { name } => {
            client.delete(&["v1", "event-types", &name]).await?;
            out.note(format!("Deleted {name}."));
        }
        Action::Import { file, dry_run } => {
            let drafts = read_document(&file)?;
            if dry_run {
                for (name, _) in drafts {
                    out.line(name)?;
                }
            } else {
                import_all(drafts, client, out).await?;
            }
        }
    }
    Ok(Ending::Fine)
}

impl PutArgs {
    fn read(self) -> Result<(String, NewEventType), Failure> {
        let schema = self.schema_file.map(|path| read_json(&path)).transpose()?;
        let examples = self.example_file.iter().map(|path| read_json(path));
        let examples = examples.collect::<Result<Vec<_>, _>>()?;
        let body = NewEventType {
            description: self.description,
            group: self.group,
            schema,
            examples: (!examples.is_empty()).then_some(examples),
            deprecated: self.deprecated.then_some(true),
            archived: self.archived.then_some(true),
        };
        Ok((self.name, body))
    }
}

fn read_json(path: &Path) -> Result<Value, Failure> {
    let text = read_file(path)?;
    serde_json::from_slice(&text)
        .map_err(|error| Failure::Input(format!("{} must be JSON: {error}", path.display())))
}

fn read_document(path: &Path) -> Result<Vec<(String, CatalogueDraft)>, Failure> {
    let document = read_json(path)?;
    import(&document).map_err(|error| Failure::Input(format!("{} {error}", path.display())))
}

async fn put(client: &Client, name: &str, body: &NewEventType) -> Result<Answer, Failure> {
    client.put(&["v1", "event-types", name], body).await
}

async fn import_all(
    drafts: Vec<(String, CatalogueDraft)>,
    client: &Client,
    out: Output,
) -> Result<(), Failure> {
    let count = drafts.len();
    for (name, draft) in drafts {
        put(client, &name, &draft.into()).await?;
        out.note(format!("Imported {name}."));
    }
    out.note(format!("{count} event types imported."));
    Ok(())
}

async fn list(client: &Client, out: Output) -> Result<(), Failure> {
    let listing = pages::all(client, &["v1", "event-types"]).await?;
    if out.wants_json() {
        return out.value(&listing);
    }
    let mut table = Table::new(["EVENT TYPE", "GROUP", "STATE", "SCHEMA", "DESCRIPTION"]);
    for one in listing.read::<EventTypeView>()? {
        let state = state(&one).to_owned();
        let has_schema = if one.schema.is_some() { "yes" } else { "" };
        let description = one.description.unwrap_or_default();
        let first_line = description.lines().next().unwrap_or_default().to_owned();
        let cells = [
            one.name,
            one.group.unwrap_or_default(),
            state,
            has_schema.to_owned(),
            first_line,
        ];
        table.row(Mark::None, cells);
    }
    out.line(table.show(out))
}

const fn state(one: &EventTypeView) -> &'static str {
    if one.archived {
        "archived"
    } else if one.deprecated {
        "deprecated"
    } else {
        ""
    }
}

fn shown(answer: &Answer, out: Output) -> Result<(), Failure> {
    if out.wants_json() {
        return out.document(&answer.text);
    }
    let one: EventTypeView = answer.read()?;
    let state = Some(state(&one)).filter(|state| !state.is_empty());
    out.line(facts(
        out,
        [
            ("event type", Some(one.name)),
            ("description", one.description),
            ("group", one.group),
            ("state", state.map(str::to_owned)),
            (
                "for",
                Some(
                    if one.shared {
                        "all tenants"
                    } else {
                        "this tenant"
                    }
                    .to_owned(),
                ),
            ),
            ("updated", Some(short_time(one.updated_at))),
        ],
    ))?;
    for (title, value) in one
        .schema
        .iter()
        .map(|schema| ("schema", schema))
        .chain(one.examples.iter().map(|example| ("example", example)))
    {
        out.line(format!("\n{title}:\n{value:#}"))?;
    }
    Ok(())
}
