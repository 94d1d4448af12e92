//! Templates: what a webhook sends instead of the event's own bytes.
//!
//! The language is Jinja, as far as it can be bounded: see `sandbox`. Rendering is pure: no clock, no files, no other templates.

mod budget;
mod filters;
mod output;
mod presets;
mod render;
mod sandbox;

#[cfg(test)]
mod hostile;
#[cfg(test)]
mod tests;

use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::event::{Event, Label};
use crate::invalid::Invalid;
use crate::webhook::Webhook;
use output::Escape;
pub use presets::Preset;

/// The longest template of a body.
pub const MAX_TEMPLATE_BYTES: usize = 16 * 1024;
/// The longest template of a query.
pub const MAX_QUERY_TEMPLATE_BYTES: usize = 2 * 1024;
/// The largest rendered body.
pub const MAX_RENDERED_BYTES: usize = 256 * 1024;
/// The longest rendered query. With it, the URL may have [`crate::egress::MAX_URL_CHARS`].
pub const MAX_RENDERED_QUERY_BYTES: usize = 2 * 1024;
/// The most instructions of the template engine that one rendering may execute.
pub const MAX_TEMPLATE_STEPS: u64 = 100_000;
/// The most bytes that the operators and filters of one rendering may look at together.
pub const MAX_TEMPLATE_WORK: u64 = 16 * 1024 * 1024;
/// The content type of a template that sets none.
pub const DEFAULT_CONTENT_TYPE: &str = "application/json";

/// A template as submitted, not validated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TemplateDraft {
    pub body: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
}

/// A checked template.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Template {
    body: String,
    content_type: Label,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    query: Option<String>,
}

/// What a template can use, besides the payload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Facts {
    pub event: EventFacts,
    pub webhook: WebhookFacts,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EventFacts {
    pub id: String,
    #[serde(rename = "type")]
    pub event_type: String,
    pub session_id: Option<String>,
    pub created_at: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WebhookFacts {
    pub id: String,
    pub name: String,
}

impl Facts {
    #[must_use]
    pub fn of(event: &Event, webhook: &Webhook) -> Self {
        Self {
            event: EventFacts::of(event),
            webhook: WebhookFacts {
                id: webhook.id.to_string(),
                name: webhook.settings.name.clone(),
            },
        }
    }
}

impl EventFacts {
    #[must_use]
    pub fn of(event: &Event) -> Self {
        Self {
            id: event.id.to_string(),
            event_type: event.event_type.as_str().to_owned(),
            session_id: event.session_id.clone().map(String::from),
            created_at: event.created_at.to_string(),
        }
    }
}

/// What a template makes of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    pub body: Bytes,
    pub content_type: Label,
    /// To be added to the webhook's URL.
    pub query: Option<String>,
}

/// Why an event could not be rendered. Contains nothing of the payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderError {
    pub part: TemplatePart,
    /// The line of the template; `None` if no line is to blame.
    pub line: Option<usize>,
    pub reason: String,
}

/// A part of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplatePart {
    Body,
    Query,
}

impl TemplatePart {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Body => "body",
            Self::Query => "query",
        }
    }
}

impl fmt::Display for RenderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.part, self.line) {
            (TemplatePart::Body, Some(line)) => write!(f, "line {line}: {}", self.reason),
            (TemplatePart::Body, None) => f.write_str(&self.reason),
            (TemplatePart::Query, Some(line)) => write!(f, "query, line {line}: {}", self.reason),
            (TemplatePart::Query, None) => write!(f, "query: {}", self.reason),
        }
    }
}

impl RenderError {
    /// The error as one of the field that holds the template.
    #[must_use]
    pub fn into_invalid(self, field: &str) -> Invalid {
        let line = self.line.map(|line| format!("line {line}: "));
        let message = format!("{}{}", line.unwrap_or_default(), self.reason);
        Invalid::field(format!("{field}.{}", self.part.as_str()), message)
    }
}

impl TemplateDraft {
    /// # Errors
    /// All errors at once, under `field`. Those of the language name their line.
    pub fn check(self, field: &str) -> Result<Template, Invalid> {
        let mut errors = Invalid::default();
        let content_type = self.content_type.as_deref().unwrap_or(DEFAULT_CONTENT_TYPE);
        let content_type = errors.take(&format!("{field}.content_type"), content_type.parse());
        let name = format!("{field}.body");
        errors.require(!self.body.trim().is_empty(), &name, || {
            "must not be empty".to_owned()
        });
        check_part(&mut errors, &name, &self.body, MAX_TEMPLATE_BYTES);
        if let Some(query) = &self.query {
            let name = format!("{field}.query");
            check_part(&mut errors, &name, query, MAX_QUERY_TEMPLATE_BYTES);
        }
        match content_type {
            Some(content_type) => errors.into_result().map(|()| Template {
                body: self.body,
                content_type,
                query: self.query.filter(|query| !query.trim().is_empty()),
            }),
            None => Err(errors),
        }
    }
}

fn check_part(errors: &mut Invalid, field: &str, source: &str, max: usize) {
    if source.len() > max {
        return errors.add(field, format!("must be at most {max} bytes"));
    }
    if let Err(fault) = sandbox::parse(source) {
        let line = fault.line.map(|line| format!("line {line}: "));
        errors.add(
            field,
            format!("{}{}", line.unwrap_or_default(), fault.reason),
        );
    }
}

impl Template {
    /// # Errors
    /// The payload is not JSON, the template does not fit it, or a limit is exceeded.
    pub fn render(&self, payload: &[u8], facts: &Facts) -> Result<Rendered, RenderError> {
        let blame = |part| {
            move |fault: render::Fault| RenderError {
                part,
                line: fault.line,
                reason: fault.reason,
            }
        };
        let context = render::context(payload, facts).map_err(blame(TemplatePart::Body))?;
        let escape = Escape::of(self.content_type.as_str());
        let body = render::render(&self.body, escape, MAX_RENDERED_BYTES, context.clone())
            .map_err(blame(TemplatePart::Body))?;
        let query = self.query.as_deref().map(|source| {
            let max = MAX_RENDERED_QUERY_BYTES;
            render::render(source, Escape::Query, max, context).map_err(blame(TemplatePart::Query))
        });
        let query = query.transpose()?.map(|text| text.trim().to_owned());
        Ok(Rendered {
            body: Bytes::from(body),
            content_type: self.content_type.clone(),
            query: query.filter(|query| !query.is_empty()),
        })
    }

    #[must_use]
    pub fn body(&self) -> &str {
        &self.body
    }

    #[must_use]
    pub const fn content_type(&self) -> &Label {
        &self.content_type
    }

    #[must_use]
    pub fn query(&self) -> Option<&str> {
        self.query.as_deref()
    }
}

impl From<Template> for TemplateDraft {
    fn from(template: Template) -> Self {
        Self {
            body: template.body,
            content_type: Some(template.content_type.into()),
            query: template.query,
        }
    }
}
