//! The gateway's error documents: RFC 9457 with a code and a list of errors by field.

use std::fmt::Write as _;

use http::StatusCode;
use postrider_api_types::Word;
use postrider_api_types::problem::{Code, ProblemBody};

use crate::output::printable;

/// An error response of the gateway.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    document: ProblemBody,
    text: String,
}

impl Problem {
    /// Reads an error response. One that is not a problem document, such as a proxy's error page, leaves only the status.
    pub(crate) fn read(status: StatusCode, text: &str) -> Self {
        let document = serde_json::from_str(text).unwrap_or_default();
        Self {
            status,
            document,
            text: text.to_owned(),
        }
    }

    pub(crate) fn headline(&self) -> String {
        let title = self
            .document
            .title
            .as_deref()
            .or_else(|| self.status.canonical_reason())
            .unwrap_or("rejected");
        match &self.document.code {
            Some(code) => format!("{title} ({}, {code})", self.status.as_u16()),
            None => format!("{title} ({})", self.status.as_u16()),
        }
    }

    /// The detail and each field's error, one per line, each line preceded by a line break. A detail that only repeats
    /// the errors is omitted.
    pub(crate) fn details(&self) -> String {
        let mut text = String::new();
        let errors = &self.document.errors;
        let repeats = |detail: &str| {
            !errors.is_empty() && errors.iter().all(|error| detail.contains(&error.message))
        };
        if let Some(detail) = self
            .document
            .detail
            .as_deref()
            .filter(|detail| !repeats(detail))
        {
            let _ = write!(text, "\n  {}", printable(detail));
        }
        for error in errors {
            let (field, message) = (printable(&error.field), printable(&error.message));
            let pointer = printable(error.pointer.as_deref().unwrap_or_default());
            let _ = write!(text, "\n  {field}{pointer}: {message}");
        }
        text
    }

    pub(crate) fn code(&self) -> Option<Code> {
        self.document.code.as_ref().and_then(Word::known)
    }

    /// Whether the document reports an error in this field.
    pub(crate) fn blames(&self, field: &str) -> bool {
        self.document
            .errors
            .iter()
            .any(|error| error.field == field)
    }

    /// The document as received, or one built from the status.
    pub(crate) fn as_json(&self) -> String {
        match serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(&self.text) {
            Ok(_) => self.text.clone(),
            Err(_) => {
                serde_json::json!({ "title": self.headline(), "status": self.status.as_u16() })
                    .to_string()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxys_error_page_still_gives_a_headline_and_a_document() {
        let problem = Problem::read(StatusCode::BAD_GATEWAY, "<html>502</html>");
        assert_eq!(problem.headline(), "Bad Gateway (502)");
        assert_eq!(problem.details(), "");
        assert!(problem.as_json().contains("502"));
    }

    #[test]
    fn a_detail_that_repeats_the_errors_is_omitted() {
        let body = r#"{"title":"t","detail":"name: is long; x: is bad",
            "errors":[{"field":"name","message":"is long"},{"field":"x","message":"is bad"}]}"#;
        let problem = Problem::read(StatusCode::BAD_REQUEST, body);
        assert_eq!(problem.details(), "\n  name: is long\n  x: is bad");
    }
}
