//! Runs a template within its limits.

use std::sync::Arc;

use minijinja::machinery::{CodeGenerator, eval, make_string_output};
use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, ErrorKind};
use serde::de::IgnoredAny;

use super::budget::Budget;
use super::output::{Escape, Writer};
use super::{Facts, MAX_TEMPLATE_STEPS, filters, sandbox};

/// What is wrong, and in which line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) line: Option<usize>,
    pub(super) reason: String,
}

impl Fault {
    fn new(reason: impl Into<String>) -> Self {
        Self {
            line: None,
            reason: reason.into(),
        }
    }
}

impl From<minijinja::Error> for Fault {
    fn from(error: minijinja::Error) -> Self {
        let reason = match (error.kind(), error.detail()) {
            (ErrorKind::OutOfFuel, None) => {
                format!("the template takes more than {MAX_TEMPLATE_STEPS} steps")
            }
            (ErrorKind::UndefinedError, None) => "a field of an undefined value is used".to_owned(),
            (_, Some(detail)) => detail.to_owned(),
            (kind, None) => kind.to_string(),
        };
        Self {
            line: error.line(),
            reason,
        }
    }
}

/// The variables of a template.
pub(super) fn context(payload: &[u8], facts: &Facts) -> Result<Value, Fault> {
    let payload: Value =
        serde_json::from_slice(payload).map_err(|_| Fault::new("the payload is not JSON"))?;
    let event = Value::from(Serde(&facts.event));
    let webhook = Value::from(Serde(&facts.webhook));
    Ok(Value::from_pairs([
        ("payload", payload),
        ("event", event),
        ("webhook", webhook),
    ]))
}

pub(super) fn render(
    source: &str,
    escape: Escape,
    max: usize,
    context: Value,
) -> Result<String, Fault> {
    let parsed = sandbox::parse(source)?;
    let mut generator = CodeGenerator::new(sandbox::NAME, source);
    generator.compile_stmt(&parsed);
    let (instructions, blocks) = generator.finish();
    let environment = environment(escape, max);
    let mut text = String::new();
    let mut output = make_string_output(&mut text);
    let escaped_by_writer = AutoEscape::None;
    eval(
        &environment,
        &instructions,
        context,
        &blocks,
        &mut output,
        escaped_by_writer,
    )?;
    if escape == Escape::Json {
        let checked: Result<IgnoredAny, _> = serde_json::from_str(&text);
        checked.map_err(|error| Fault::new(format!("the output is not valid JSON: {error}")))?;
    }
    Ok(text)
}

fn environment<'a>(escape: Escape, max: usize) -> Environment<'a> {
    let budget = Arc::new(Budget::new());
    let mut environment = Environment::empty();
    environment.set_fuel(Some(MAX_TEMPLATE_STEPS));
    filters::add(&mut environment, &budget, escape);
    let writer = Writer::new(escape, max);
    environment.set_formatter(move |out, _, value| {
        budget.weigh(value)?;
        Ok(out.write_str(&writer.piece(value)?)?)
    });
    environment
}
