//! Where in a request a value is found.

use std::borrow::Cow;

use super::pick::{Leaf, pick};
use super::{Text, form};
use crate::inbound::Inbound;
use crate::signature::MAX_SIGNATURES;

/// Parts of a header beyond this are ignored.
const MAX_PARTS: usize = 4 * MAX_SIGNATURES;

/// A place in a request, and how values are written there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    pub at: At,
    /// Between several values.
    pub separator: Option<char>,
    /// Before each value; parts without it are ignored.
    pub prefix: Text,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum At {
    Header(Text),
    /// The headers with this name followed by `-1`, `-2` and so on.
    Numbered(Text),
    /// A JSON pointer into the body.
    Body(Text),
    /// A field of a form body.
    Form(Text),
}

impl Field {
    /// All values in order, at most [`MAX_SIGNATURES`].
    pub(crate) fn texts<'a>(&'a self, inbound: &'a Inbound) -> Vec<Cow<'a, str>> {
        let mut found = Vec::new();
        self.collect(inbound, &mut found);
        found.truncate(MAX_SIGNATURES);
        found
    }

    /// The first value that is not blank.
    pub(crate) fn text<'a>(&'a self, inbound: &'a Inbound) -> Option<Cow<'a, str>> {
        let mut texts = self.texts(inbound).into_iter();
        texts.find(|text| !text.trim().is_empty())
    }

    /// As [`text`](Self::text), but not a number in the body.
    pub(crate) fn word<'a>(&'a self, inbound: &'a Inbound) -> Option<Cow<'a, str>> {
        match &self.at {
            At::Body(pointer) => match pick(&inbound.body, pointer)? {
                Leaf::Text(text) => Some(text).filter(|text| !text.trim().is_empty()),
                Leaf::Number(_) => None,
            },
            At::Header(_) | At::Numbered(_) | At::Form(_) => self.text(inbound),
        }
    }

    /// Whether the place exists, whatever its value.
    pub(crate) fn is_there(&self, inbound: &Inbound) -> bool {
        match &self.at {
            At::Header(name) => inbound.headers.contains_key(name.as_ref()),
            At::Numbered(name) => numbered(name).any(|name| inbound.headers.contains_key(name)),
            At::Body(pointer) => pick(&inbound.body, pointer).is_some(),
            At::Form(name) => form::field(&inbound.body, name).is_some(),
        }
    }

    /// Describes the place and how `what` is written there, for operators.
    #[must_use]
    pub fn shape(&self, what: &str) -> String {
        let prefix = &self.prefix;
        match &self.at {
            At::Header(name) => format!("header `{name}: {prefix}<{what}>`"),
            At::Numbered(name) => format!("header `{name}-1: {prefix}<{what}>`"),
            At::Body(pointer) => format!("`{pointer}` in the JSON body"),
            At::Form(name) => format!("`{name}` in the form"),
        }
    }

    fn collect<'a>(&'a self, inbound: &'a Inbound, found: &mut Vec<Cow<'a, str>>) {
        let values = |name: &str| {
            let values = inbound.headers.get_all(name).into_iter();
            values.filter_map(|value| value.to_str().ok())
        };
        match &self.at {
            At::Header(name) => values(name).for_each(|value| self.split(value, found)),
            At::Numbered(name) => {
                numbered(name)
                    .for_each(|name| values(&name).for_each(|value| self.split(value, found)));
            }
            At::Body(pointer) => match pick(&inbound.body, pointer) {
                Some(Leaf::Text(text)) => found.push(text),
                Some(Leaf::Number(text)) => found.push(Cow::Borrowed(text)),
                None => {}
            },
            At::Form(name) => {
                if form::is_form(&inbound.headers) {
                    found.extend(form::field(&inbound.body, name).map(Cow::Owned));
                }
            }
        }
    }

    fn split<'a>(&self, value: &'a str, found: &mut Vec<Cow<'a, str>>) {
        let mut keep = |part: &'a str| {
            if let Some(text) = part.trim().strip_prefix(self.prefix.as_ref()) {
                found.push(Cow::Borrowed(text));
            }
        };
        match self.separator {
            Some(separator) => value.split(separator).take(MAX_PARTS).for_each(keep),
            None => keep(value),
        }
    }
}

fn numbered(name: &str) -> impl Iterator<Item = String> {
    (1..=MAX_SIGNATURES).map(move |n| format!("{name}-{n}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_found_among_forty_parts_of_a_header() {
        let field = Field {
            at: At::Header(Text::Borrowed("x-signature")),
            separator: Some(','),
            prefix: Text::Borrowed("v1="),
        };
        let found = |before: usize| {
            let value = format!("{}v1=right", "v0=wrong,".repeat(before));
            let headers = [("x-signature".parse().unwrap(), value.parse().unwrap())];
            let inbound = Inbound::post(headers.into_iter().collect(), bytes::Bytes::new());
            field.text(&inbound).map(Cow::into_owned)
        };
        assert_eq!(found(39).as_deref(), Some("right"));
        assert_eq!(found(40), None);
    }
}
