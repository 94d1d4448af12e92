//! A webhook's custom headers in its form. A value may be a credential: a stored one is kept or replaced, never shown.

use std::collections::BTreeMap;

use postrider_domain::headers::{CustomHeaders, MAX_HEADERS};
use postrider_domain::invalid::Invalid;

use crate::fields::Fields;

/// What an empty value means for a header that the webhook has already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StoredValues {
    Kept,
    /// The URL has another origin now, and who changes it may not know the values: they would be sent to a server that they
    /// are not for.
    EnteredAgain,
}

/// Empty rows for more headers.
const SPARE: usize = 2;

#[derive(Default)]
pub(super) struct HeaderLines(Vec<HeaderLine>);

#[derive(Clone, Default)]
pub(super) struct HeaderLine {
    pub(super) name: String,
    /// As entered; empty keeps the stored value.
    pub(super) value: String,
    pub(super) is_stored: bool,
}

type Headers = BTreeMap<String, String>;

impl HeaderLines {
    /// The headers of a webhook, without their values.
    pub(super) fn of(headers: &CustomHeaders) -> Self {
        let line = |name: String| HeaderLine {
            name,
            is_stored: true,
            ..HeaderLine::default()
        };
        let names = headers.iter().map(|(name, _)| name.to_string());
        Self(names.map(line).collect())
    }

    pub(super) fn from_fields(fields: &Fields) -> Self {
        let line = |n: usize| HeaderLine {
            name: fields.text(&format!("headers[{n}].name")),
            value: fields.text(&format!("headers[{n}].value")),
            is_stored: fields.get(&format!("headers[{n}].stored")).is_some(),
        };
        let is_used = |line: &HeaderLine| {
            // Clearing the name removes a header; a value without a name is an error.
            !line.name.is_empty() || (!line.value.is_empty() && !line.is_stored)
        };
        // One more than the limit, so too many are rejected instead of cut.
        let lines = (0..=MAX_HEADERS + SPARE).map(line).filter(is_used);
        Self(lines.collect())
    }

    /// The headers with their values; an empty value means the stored one, if that is kept.
    pub(super) fn merged(
        &self,
        stored: Option<&Headers>,
        values: StoredValues,
    ) -> Result<Headers, Invalid> {
        let mut errors = Invalid::default();
        let mut merged = Headers::new();
        for line in &self.0 {
            let name = line.name.to_ascii_lowercase();
            let known = stored.and_then(|stored| stored.get(&name));
            let is_refused = known.is_some() && values == StoredValues::EnteredAgain;
            let value = if line.value.is_empty() {
                known.cloned().filter(|_| !is_refused)
            } else {
                Some(line.value.clone())
            };
            let field = format!("headers.{name}");
            errors.require(!name.is_empty(), "headers", || {
                "every value needs a name".to_owned()
            });
            errors.require(value.is_some(), &field, || {
                if is_refused {
                    "enter the value again, because the URL now leads to another server".to_owned()
                } else {
                    "must have a value".to_owned()
                }
            });
            let replaced = merged.insert(name, value.unwrap_or_default());
            errors.require(replaced.is_none(), &field, || "is listed twice".to_owned());
        }
        errors.into_result().map(|()| merged)
    }

    /// The headers, and empty rows for more.
    pub(super) fn lines(&self) -> Vec<(usize, HeaderLine)> {
        let spare = std::iter::repeat_n(HeaderLine::default(), SPARE);
        let lines = self.0.iter().cloned().chain(spare);
        lines.enumerate().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(query: &str) -> Result<Headers, Invalid> {
        let stored = Headers::from([
            ("authorization".to_owned(), "Bearer old".to_owned()),
            ("x-team".to_owned(), "blue".to_owned()),
        ]);
        let lines = HeaderLines::from_fields(&Fields::parse(query.as_bytes()));
        lines.merged(Some(&stored), StoredValues::Kept)
    }

    #[test]
    fn an_empty_value_keeps_the_stored_one_and_an_empty_name_removes_it() {
        let kept = merged(
            "headers[0].name=Authorization&headers[0].stored=1&headers[1].name=&headers[1].stored=1&headers[2].name=X-New&headers[2].value=n",
        );
        let expected = [("authorization", "Bearer old"), ("x-new", "n")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(kept.unwrap(), Headers::from(expected));
        let replaced = merged("headers[0].name=authorization&headers[0].value=Bearer new").unwrap();
        assert_eq!(replaced["authorization"], "Bearer new");
        assert_eq!(merged("").unwrap(), Headers::new());
    }

    #[test]
    fn an_incomplete_header_is_rejected() {
        for bad in [
            "headers[0].name=x-new",
            "headers[0].value=orphan",
            "headers[0].name=x-a&headers[0].value=1&headers[1].name=X-A&headers[1].value=2",
        ] {
            assert!(merged(bad).is_err(), "{bad}");
        }
    }
}
