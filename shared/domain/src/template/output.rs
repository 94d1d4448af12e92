//! How values are written: as JSON, as text, or percent-encoded.

use std::sync::{Arc, Mutex, PoisonError};

use minijinja::value::{Object, ObjectRepr, Value, ValueKind};
use minijinja::{Error, ErrorKind};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The unreserved characters of RFC 3986 stay as they are.
const QUERY: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// How `{{ … }}` is escaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Escape {
    /// Inside the quotes of a string as part of it, elsewhere as a JSON value.
    Json,
    Text,
    /// Percent-encoded, so that a value cannot add a field.
    Query,
}

impl Escape {
    pub(super) fn of(content_type: &str) -> Self {
        let essence = content_type.split(';').next().unwrap_or_default();
        let essence = essence.trim().to_ascii_lowercase();
        if essence == "application/json" || essence.ends_with("+json") {
            Self::Json
        } else if essence == "application/x-www-form-urlencoded" {
            Self::Query
        } else {
            Self::Text
        }
    }
}

/// The text of the template itself.
#[derive(Debug)]
pub(super) struct Literal(pub(super) String);

impl Object for Literal {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }
}

/// Turns values into text and keeps the output within its limit.
pub(super) struct Writer {
    escape: Escape,
    max: usize,
    state: Mutex<State>,
}

struct State {
    left: usize,
    quotes: Quotes,
}

impl Writer {
    pub(super) const fn new(escape: Escape, max: usize) -> Self {
        let quotes = Quotes {
            is_inside: false,
            is_escaped: false,
        };
        Self {
            escape,
            max,
            state: Mutex::new(State { left: max, quotes }),
        }
    }

    /// The next piece of output.
    pub(super) fn piece(&self, value: &Value) -> Result<String, Error> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let piece = match value.downcast_object_ref::<Literal>() {
            Some(Literal(text)) => {
                state.quotes.read(text);
                text.clone()
            }
            None => self.escaped(value, &state.quotes)?,
        };
        state.left = state.left.checked_sub(piece.len()).ok_or_else(|| {
            let message = format!("the output is larger than {} bytes", self.max);
            Error::new(ErrorKind::WriteFailure, message)
        })?;
        Ok(piece)
    }

    fn escaped(&self, value: &Value, quotes: &Quotes) -> Result<String, Error> {
        Ok(match self.escape {
            Escape::Json if !quotes.is_inside => match value.as_str() {
                Some(text) if value.is_safe() => text.to_owned(),
                Some(_) | None => json(value)?,
            },
            Escape::Json => {
                let quoted = json(&Value::from(text(value)?))?;
                let inner = quoted.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
                inner.unwrap_or_default().to_owned()
            }
            Escape::Text => text(value)?,
            Escape::Query => utf8_percent_encode(&text(value)?, QUERY).to_string(),
        })
    }
}

/// Whether the output so far ends inside a JSON string. Only the template's own text can begin or end one.
struct Quotes {
    is_inside: bool,
    is_escaped: bool,
}

impl Quotes {
    fn read(&mut self, text: &str) {
        for byte in text.bytes() {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = self.is_inside,
                b'"' => self.is_inside = !self.is_inside,
                _ => {}
            }
        }
    }
}

pub(super) fn json(value: &Value) -> Result<String, Error> {
    serde_json::to_string(value)
        .map_err(|_| Error::new(ErrorKind::BadSerialization, "the value has no JSON form"))
}

/// The value as text: null and undefined are empty, lists and objects are JSON.
pub(super) fn text(value: &Value) -> Result<String, Error> {
    let is_empty = value.is_undefined() || value.is_none();
    if is_empty {
        Ok(String::new())
    } else if value.as_object().is_some() || value.kind() == ValueKind::Bool {
        json(value)
    } else {
        Ok(value.to_string())
    }
}
